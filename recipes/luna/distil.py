"""Distillation: a small encoder learns what a large one believes of each claim, beside its label.

Hinton et al. 2015, "Distilling the knowledge in a neural network" (arXiv 1503.02531), section 2, at
temperature 1. The teacher has no part in the student's steps: it reads every claim once beforehand,
and its beliefs are kept with the items, so that any number of students can learn from them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from moonlynx.judge.backends.encoder import load_encoder
from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.contract.types import Probability, Record
from moonlynx.judge.files.journal import RunMismatch, resume, to_line
from moonlynx.judge.judges.luna.aggregate import claim_support
from moonlynx.judge.judges.luna.inputs import find_specials
from moonlynx.judge.judges.luna.weights import WeightsFolder, open_weights

from ..data.mixes import Mix
from .aggregation import run_encoder
from .batches import encode_items
from .items import Item
from .reader import Reader
from .settings import Stage
from .stage_items import stage_items

_DECIMALS = 4
_PORTION = 500  # items between two writes


class Belief(Record):
    """What the teacher believes of one item."""

    claim: str  # start of the SHA-256 of the item's claim
    # P(supported), the maximum over its premises; None for a claim of which the teacher's tokenizer
    # leaves nothing
    supported: Probability | None


def taught_items(
    stage: Stage, mix: Mix, root: Path, reader: Reader, seed: int, out: Path
) -> list[Item]:
    """Return the stage's items, with the teacher's beliefs where it names one.

    Raises as `stage_items` and `with_beliefs`, and:
        LunaError: the teacher's folder cannot be read.
    """
    if not stage.teacher:
        return stage_items(stage, mix, root, reader, seed)
    # Opened first: that a teacher is missing must not be said after minutes of reading.
    form = "onnx" if (Path(stage.teacher) / MODEL).is_file() else "torch"
    teacher = open_weights(stage.teacher, form)
    return with_beliefs(stage_items(stage, mix, root, reader, seed), teacher, form, out)


def with_beliefs(items: Sequence[Item], teacher: WeightsFolder, form: str, out: Path) -> list[Item]:
    """Return the items with the teacher's beliefs, which are kept in `out` as they are found.

    Raises:
        RunMismatch: `out` holds beliefs of other items.
        MissingExtra: the teacher is in torch form, and torch or transformers is not installed.
    """
    encoder = load_encoder(teacher.path, form)
    specials, limits = find_specials(teacher.tokenizer), teacher.config.limits
    claims = [hashlib.sha256(item.claim.encode()).hexdigest()[:16] for item in items]
    out.mkdir(parents=True, exist_ok=True)
    with resume(out / f"beliefs-{encoder.version}.jsonl") as journal:
        beliefs = list(journal.read(Belief))
        if [belief.claim for belief in beliefs] != claims[: len(beliefs)]:
            raise RunMismatch(journal.path, "holds beliefs of other claims")
        for start in range(len(beliefs), len(items), _PORTION):
            portion = items[start : start + _PORTION]
            numbered = [replace(item, source=str(at)) for at, item in enumerate(portion, start)]
            encoded = encode_items(numbered, teacher.tokenizer, specials, limits)
            supports = {
                int(item.source): round(claim_support(*scored, "claim").support, _DECIMALS)
                for item, scored in zip(encoded, run_encoder(encoder, encoded), strict=True)
            }
            found = [
                Belief(claim=claim, supported=supports.get(at))
                for at, claim in enumerate(claims[start : start + _PORTION], start)
            ]
            journal.append(map(to_line, found))
            beliefs += found
    return [
        replace(item, teacher=belief.supported) for item, belief in zip(items, beliefs, strict=True)
    ]
