"""Fits what the encoder's support becomes beside a claim's new words, to labelled sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.claims import Claim
from moonlynx.judge.judges.luna.judge import LunaJudge
from moonlynx.judge.judges.luna.support import SupportModel, features

Floats = NDArray[np.float64]
_UNCHANGED = SupportModel()
_PENALTY = 1.0  # on what moves away from the start; the bias is free
_STEPS = 50
_STILL = 1e-8


class ClaimFeatures(NamedTuple):
    """A claim that was read, and what the regression reads of it, shape (5,)."""

    claim: Claim
    row: Floats


def read_features(judge: LunaJudge, examples: Sequence[Example]) -> list[list[ClaimFeatures]]:
    """Run the encoder, and return what the regression reads of each answer's claims.

    The judge must return the encoder's own support (`SupportModel()`).
    """
    return [
        [
            ClaimFeatures(one.claim, features(1 - sentence.raw_score, one))
            for sentence, one in zip(verdict.sentences, finish(judge.read(example)), strict=True)
            if sentence.raw_score is not None
        ]
        for example, verdict in zip(examples, judge(examples), strict=True)
    ]


def least_supported(claims: Sequence[ClaimFeatures]) -> Floats | None:
    """Return the row of the claim with the least support by the encoder; None without claims."""
    return min((claim.row for claim in claims), key=lambda row: float(row[1]), default=None)


def fit_support(
    rows: Floats, supported: NDArray[np.bool_], start: SupportModel = _UNCHANGED
) -> SupportModel:
    """Fit the weights by Newton's method, with a penalty on leaving those of `start`.

    `rows` are as `features` returns them, shape (sentences, 5); labels have shape (sentences,).
    """
    before = _weights(start)
    penalty = np.diag([1e-6, *[_PENALTY] * (len(before) - 1)])
    weights = before.copy()
    for _ in range(_STEPS):
        p = 0.5 + 0.5 * np.tanh(rows @ weights / 2)
        gradient = rows.T @ (p - supported) + penalty @ (weights - before)
        curvature = (rows * (p * (1 - p))[:, None]).T @ rows + penalty
        step = np.linalg.solve(curvature, gradient)
        weights -= np.clip(step, -2.0, 2.0)  # far from the end, Newton's steps may be too long
        if np.abs(step).max() < _STILL:
            break
    return SupportModel(
        **dict(zip(SupportModel.model_fields, np.round(weights, 4).tolist(), strict=True))
    )


def _weights(model: SupportModel) -> Floats:
    return np.array(list(model.model_dump().values()), dtype=np.float64)
