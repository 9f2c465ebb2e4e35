"""How far Luna's ONNX form is from its torch form: `python -m tests.bench.forms_apart`.

Arguments: a weights folder in torch form, one in ONNX form, and the labelled data.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.encoder import EncoderOutput, Input
from moonlynx.judge.backends.onnx_encoder import OnnxEncoder
from moonlynx.judge.backends.torch_encoder import TorchEncoder
from moonlynx.judge.files.stored import load_record
from moonlynx.judge.judges.luna.config import CONFIG_FILE, LunaConfig, LunaError
from moonlynx.judge.judges.luna.inputs import find_specials
from moonlynx.judge.judges.luna.weights import TOKENIZER, load_tokenizer
from moonlynx.recipes.data.mixes import Mix
from moonlynx.recipes.luna.batches import encode_items
from moonlynx.recipes.luna.reader import Reader

_REAL = 1000  # claims to compare the forms on


@dataclass(frozen=True)
class Comparison:
    """How far probabilities of support are from the torch form's.

    Attributes:
        inputs: how many were read.
        claim_max, claim_mean: absolute difference of the claim's probability.
        token_max, token_mean: the same of every token's.
        agreement: share of the inputs whose claim has the same label, supported or not.
    """

    inputs: int
    claim_max: float
    claim_mean: float
    token_max: float
    token_mean: float
    agreement: float


def compare(
    folder: Path, out: Path, readings: Sequence[Input], threshold: float = 0.5
) -> Comparison:
    """Read the inputs, at least one, with both forms of an encoder.

    Args:
        folder: a weights folder in torch form.
        out: one in ONNX form.
        readings: token ids and types, each of shape (tokens,).
        threshold: a claim is supported where its probability reaches it.

    Raises:
        MissingExtra: torch or transformers is missing.
        BackendError: one of the forms cannot be loaded.
    """
    pairs = [
        _probabilities(encoder.encode(readings))
        for encoder in (TorchEncoder(folder, device="cpu"), OnnxEncoder(out))
    ]
    (claims, tokens), (own_claims, own_tokens) = pairs
    by_claim, by_token = np.abs(own_claims - claims), np.abs(own_tokens - tokens)
    return Comparison(
        inputs=len(readings),
        claim_max=float(by_claim.max()),
        claim_mean=float(by_claim.mean()),
        token_max=float(by_token.max()),
        token_mean=float(by_token.mean()),
        agreement=float(np.mean((own_claims >= threshold) == (claims >= threshold))),
    )


def _probabilities(
    outputs: Sequence[EncoderOutput],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the claims' probabilities, and those of all tokens one input after the other."""
    claims = np.array([output.claim for output in outputs])
    tokens = np.concatenate([output.tokens for output in outputs]).astype(np.float64)
    return 1 / (1 + np.exp(-claims)), 1 / (1 + np.exp(-tokens))


def real_inputs(folder: Path, data: Path) -> list[Input]:
    """Return inputs of claims of validation answers, `_REAL` of them, drawn at random.

    Raises:
        DataNotFound: a set is not at `data`.
        LunaError: the folder's `luna.json` or tokenizer cannot be read.
    """
    config, tokenizer = (
        load_record(folder / CONFIG_FILE, LunaConfig, LunaError),
        load_tokenizer(folder / TOKENIZER),
    )
    reader = Reader(tokenizer, config.limits, config.windows)
    rng = random.Random(0)
    answers = [row for rows in Mix("shipped").validation(data).values() for row in rows]
    rng.shuffle(answers)
    items = islice((item for answer in answers for item in reader.items(answer)), _REAL)
    encoded = encode_items(list(items), tokenizer, find_specials(tokenizer), config.limits)
    return [(reading.ids, reading.types) for item in encoded for reading in item.readings]


if __name__ == "__main__":
    torch_form, onnx_form, labelled = map(Path, sys.argv[1:])
    found = compare(torch_form, onnx_form, real_inputs(torch_form, labelled))
    for name, value in asdict(found).items():
        sys.stdout.write(f"{name}: {value:.4g}\n")
