"""Calibrations fitted to scores and labels, and a judge of given scores to apply them to."""

from moonlynx.judge.contract.types import Verdict
from moonlynx.judge.decision.calibration import fit_calibration


def fit(judge, scores, labels, method="isotonic", **options):
    settings = {"objective": "balanced-accuracy", "data_sha256": "0" * 64} | options
    return fit_calibration(judge, scores, labels, method=method, **settings)


class Scoring:
    """A judge that gives one raw score after the other, and FAILs from a threshold on."""

    def __init__(self, info, raw_scores, threshold=0.0):
        self.info, self._raw_scores, self._threshold = info, raw_scores, threshold

    def __call__(self, examples):
        return [
            Verdict(
                score="PASS" if raw is None or raw < self._threshold else "FAIL",
                raw_score=raw,
                reasoning=("x",),
                judge=self.info,
            )
            for raw, _ in zip(self._raw_scores, examples, strict=True)
        ]
