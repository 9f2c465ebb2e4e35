"""Whether a judge's probabilities are calibrated, and the cost of passing only what it is sure of.

The reliability diagram plots probability against the share of rows that are FAIL (DeGroot and
Fienberg 1983); the coverage-risk curve plots the share of rows that are passed against the share of
those that are hallucinated, over all thresholds on the raw score (Geifman and El-Yaniv 2017).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.contract.types import Record
from moonlynx.judge.decision.calibration import Calibration
from moonlynx.judge.decision.conformal import CONFIDENCE

from .metrics import place_in_bins
from .outcomes import Outcomes

RISKS = (0.02, 0.05, 0.1, 0.2)
_POINTS = 100  # of a coverage-risk curve, at most


class ReliabilityBin(Record):
    """Rows of about the same probability: its mean, and the share of them that is FAIL."""

    rows: int
    probability: float
    fail_share: float


class CoverageRisk(Record):
    """The share of all rows that is passed, and of those the share that is FAIL."""

    coverage: float
    risk: float


class CertifiedPoint(Record):
    """What `abstain=RISK` does on these rows, at `conformal.CONFIDENCE`.

    `passed_up_to` is null where the calibration's rows cannot vouch for `asked`, and `found` where,
    for that or another reason, no row is passed.
    """

    asked: float
    passed_up_to: float | None
    found: CoverageRisk | None


class Curves(Record):
    """The curves of one judge over all rows."""

    system: str
    # bins of equal width, those of the ECE, except empty ones
    reliability: tuple[ReliabilityBin, ...]
    # by rising threshold; a row without a raw score is never passed
    coverage_risk: tuple[CoverageRisk, ...]
    decided: CoverageRisk | None  # at the judge's own PASS, null where it passes nothing
    # at the risks in `RISKS`; empty where the judge's calibration has no curve
    certified: tuple[CertifiedPoint, ...]


def draw_curves(system: str, outcomes: Outcomes, calibration: Calibration | None) -> Curves | None:
    """Return a judge's curves; None where no row has a probability."""
    if np.isnan(outcomes.probability).all():
        return None
    return Curves(
        system=system,
        reliability=_reliability(outcomes),
        coverage_risk=_coverage_risk(outcomes),
        decided=_passing(outcomes, outcomes.said == 0),
        certified=() if calibration is None else _certified(outcomes, calibration),
    )


def _reliability(outcomes: Outcomes) -> tuple[ReliabilityBin, ...]:
    known = ~np.isnan(outcomes.probability)
    probability, fail = outcomes.probability[known], outcomes.fail[known]
    bins = place_in_bins(probability)
    return tuple(
        ReliabilityBin(
            rows=int((bins == number).sum()),
            probability=float(probability[bins == number].mean()),
            fail_share=float(fail[bins == number].mean()),
        )
        for number in np.unique(bins)
    )


def _coverage_risk(outcomes: Outcomes) -> tuple[CoverageRisk, ...]:
    scores = outcomes.raw_score[~np.isnan(outcomes.raw_score)]
    if not len(scores):
        return ()
    levels = np.arange(1, _POINTS + 1) / _POINTS
    thresholds = np.unique(np.quantile(scores, levels, method="inverted_cdf"))
    points = (_passing(outcomes, outcomes.raw_score <= threshold) for threshold in thresholds)
    return tuple(point for point in points if point is not None)


def _certified(outcomes: Outcomes, calibration: Calibration) -> tuple[CertifiedPoint, ...]:
    curve = calibration.curve
    if curve is None:
        return ()
    points = []
    for risk in RISKS:
        score = curve.certify(risk, confidence=CONFIDENCE, below=calibration.lowest)
        found = None if score is None else _passing(outcomes, outcomes.raw_score <= score)
        points.append(CertifiedPoint(asked=risk, passed_up_to=score, found=found))
    return tuple(points)


def _passing(outcomes: Outcomes, passed: NDArray[np.bool_]) -> CoverageRisk | None:
    rows = int(passed.sum())
    if not rows:
        return None
    return CoverageRisk(coverage=rows / len(outcomes), risk=int(outcomes.fail[passed].sum()) / rows)
