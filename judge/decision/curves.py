"""Probability curves: from a raw score to P(hallucinated), and how they are fitted."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ..backends.base import MissingExtra
from ..contract.types import Finite, MoonlynxError, Probability, Record, Score, wrong

MIN_ROWS = 20
Method = Literal["temperature", "isotonic"]


class CalibrationError(MoonlynxError, ValueError):
    """A calibration that cannot be fitted, read or used with this judge."""


class Temperature(Record):
    """P = sigmoid((raw_score - bias) / temperature), Platt's form with a bias.

    Platt, "Probabilistic outputs for support vector machines" (1999).
    """

    method: Literal["temperature"] = "temperature"
    bias: Finite
    temperature: Annotated[Finite, Field(gt=0)]

    def probability(self, raw_score: float) -> float:
        """Return P(hallucinated) in [0, 1]."""
        # tanh, unlike exp, does not overflow.
        return 0.5 + 0.5 * math.tanh((raw_score - self.bias) / self.temperature / 2)


class Isotonic(Record):
    """P rises with the raw score by straight lines between knots, and is level outside them."""

    method: Literal["isotonic"] = "isotonic"
    raw_scores: tuple[Finite, ...] = Field(min_length=1)
    probabilities: tuple[Probability, ...]

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if len(self.raw_scores) != len(self.probabilities):
            raise wrong("raw_scores and probabilities differ in length")
        if sorted(self.raw_scores) != [*self.raw_scores]:
            raise wrong("raw_scores must rise")
        if sorted(self.probabilities) != [*self.probabilities]:
            raise wrong("probabilities must not fall")
        return self

    def probability(self, raw_score: float) -> float:
        """Return P(hallucinated) in [0, 1]."""
        return float(np.interp(raw_score, self.raw_scores, self.probabilities))


Curve = Annotated[Temperature | Isotonic, Field(discriminator="method")]


def labelled_scores(
    raw_scores: Sequence[float | None], labels: Sequence[Score]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the available raw scores, and which of their rows are labelled FAIL."""
    pairs = [
        (score, label) for score, label in zip(raw_scores, labels, strict=True) if score is not None
    ]
    if raw_scores and not pairs:
        raise CalibrationError(
            "no row has a raw score; a chat judge has them only where its backend gives logprobs"
        )
    if len(pairs) < MIN_ROWS:
        raise CalibrationError(
            f"{len(pairs)} labelled rows with a raw score are too few; give at least {MIN_ROWS}"
        )
    scores = np.array([score for score, _ in pairs], dtype=np.float64)
    failed = np.array([label == "FAIL" for _, label in pairs])
    if not np.isfinite(scores).all():
        raise CalibrationError("a raw score is not a finite number")
    if failed.all() or not failed.any():
        raise CalibrationError(
            f"all rows are labelled {pairs[0][1]}; a calibration needs rows of both labels"
        )
    return scores, failed


def _fit_temperature(scores: NDArray[np.float64], failed: NDArray[np.bool_]) -> Temperature:
    """Fit Platt's sigmoid by maximum likelihood to his smoothed targets."""
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtra("fitting a calibration", "eval") from None
    fails = int(failed.sum())
    target = np.where(failed, (fails + 1) / (fails + 2), 1 / (len(scores) - fails + 2))
    centre, scale = float(scores.mean()), float(scores.std())
    standard = (scores - centre) / scale
    # A target of 0.9 is one row of each class, weighted 0.9 and 0.1.
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.concatenate([standard, standard])[:, None],
        np.repeat([1, 0], len(scores)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    if slope <= 0:
        raise CalibrationError(
            "the fitted probability falls with the raw score; use the method isotonic"
        )
    return Temperature(
        bias=_round(centre - scale * intercept / slope), temperature=_round(scale / slope)
    )


def _fit_isotonic(scores: NDArray[np.float64], failed: NDArray[np.bool_]) -> Isotonic:
    try:
        from sklearn.isotonic import IsotonicRegression
    except ImportError:
        raise MissingExtra("fitting a calibration", "eval") from None
    model = IsotonicRegression(y_min=0.0, y_max=1.0).fit(scores, failed.astype(np.float64))
    return Isotonic(
        raw_scores=tuple(float(knot) for knot in model.X_thresholds_),
        probabilities=tuple(_round(float(knot)) for knot in model.y_thresholds_),
    )


FITS: dict[Method, Callable[..., Temperature | Isotonic]] = {
    "temperature": _fit_temperature,
    "isotonic": _fit_isotonic,
}


def _round(value: float) -> float:
    """Keep six digits: fewer than solvers on different machines agree on."""
    return float(f"{value:.6g}")
