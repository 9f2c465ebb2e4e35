"""Answers with labels and documents, for stage 2 and for validation. Nothing test only is read."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ..exclusions import load_exclusions
from . import right
from .base import Exclusions, LabelledAnswer
from .data_to_text import QUINTD_KINDS, read_e2e, read_quintd, read_rotowire, read_scitab
from .short import read_factscore, read_halueval, read_qa_feedback, read_ragtruth
from .summaries import read_frank, read_summedits, read_xsum_hallucination

__all__ = ["RIGHT", "SETS", "LabelledAnswer", "draw", "load", "load_right", "split"]

Reader = Callable[[Path, Exclusions], Iterator[LabelledAnswer]]

SETS: Mapping[str, Reader] = {
    "ragtruth_train_part": read_ragtruth,
    "qa_feedback": read_qa_feedback,
    "frank": read_frank,
    "xsum_hallucination": read_xsum_hallucination,
    "summedits": read_summedits,
    **{f"quintd-{kind}": partial(read_quintd, kind) for kind in QUINTD_KINDS},
    "rotowire_accuracy": read_rotowire,
    "scitab": read_scitab,
    "e2e_cleaned": read_e2e,
    "halueval": read_halueval,
    "factscore_qcnli": read_factscore,
}
RIGHT: Mapping[str, Reader] = {
    "pubmedqa": right.right_pubmedqa,
    "covid_qa": right.right_covid_qa,
    "xquad_en": right.right_xquad,
    "tatqa": right.right_tatqa,
    "fetaqa": right.right_fetaqa,
    "hotpot_slice": right.right_hotpot,
    "e2e_cleaned": right.right_e2e,
}


def load(name: str, root: Path) -> list[LabelledAnswer]:
    """Read a set of `SETS` from the data folder, without the rows that share text with a test set.

    Raises:
        ValueError: no set has that name.
        DataNotFound: the folder lacks the set's files or the list of rows to leave out.
    """
    return _read(SETS, name, root)


def load_right(name: str, root: Path) -> list[LabelledAnswer]:
    """Read a set of `RIGHT`: supported answers to make unsupported ones of. Raises as `load`."""
    return _read(RIGHT, name, root)


def split(
    rows: Sequence[LabelledAnswer], share: float, seed: int
) -> tuple[list[LabelledAnswer], list[LabelledAnswer]]:
    """Split rows into training and validation, whole groups together, `share` of them validation.

    Where a group goes is drawn from its name alone: in sets that have the same share, one document
    goes the same way, and what is held for a share is held for every greater one.
    """
    halves: tuple[list[LabelledAnswer], list[LabelledAnswer]] = ([], [])
    for row in rows:
        halves[draw(row.group, seed) < share].append(row)
    return halves


def _read(sets: Mapping[str, Reader], name: str, root: Path) -> list[LabelledAnswer]:
    if name not in sets:
        raise ValueError(f"no set of answers is called {name!r}; known: {', '.join(sets)}")
    return list(sets[name](root, load_exclusions(root)))


def draw(group: str, seed: int) -> float:
    """Return a number in [0, 1) drawn from a group's name alone."""
    digest = hashlib.sha256(f"{seed}:{group}".encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64
