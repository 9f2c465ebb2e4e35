"""Abstention: a judge that passes no answer of which it is not sure enough.

An answer that the judge passes, but whose raw score is not among those that the calibration can
certify, gets no score and the error code `abstained`. FAIL stays FAIL.
"""

from ..contract.base import Judge
from ..contract.types import JudgeError, Verdict
from .calibration import Calibrated, Calibration
from .conformal import CONFIDENCE, rows_needed
from .curves import CalibrationError


class Abstaining(Calibrated):
    """A calibrated judge of whose PASS verdicts at most a share `risk` is hallucinated.

    `moonlynx.judge.decision.conformal` has the method and its assumptions. An answer without a raw
    score is not passed either: the labelled rows say nothing of it.

    Attributes:
        passed_up_to: the highest raw score that is passed.
        abstains: tells a cascade that this judge defers what it is unsure of.
    """

    def __init__(self, judge: Judge, risk: float, confidence: float = CONFIDENCE) -> None:
        """Find the raw score up to which answers are passed.

        Of those passed at most a share `risk` is hallucinated, with probability `confidence`,
        both in (0, 1). The judge has a calibration, as `Calibrated`, and decides by it.

        Raises:
            CalibrationError: a value is out of range, the judge has no calibration or one without
                a curve, or its rows cannot certify any raw score.
        """
        for name, value in (("abstain", risk), ("confidence", confidence)):
            if not 0 < value < 1:
                raise CalibrationError(f"{name} must be above 0 and below 1, not {value:g}")
        calibration = getattr(judge, "calibration", None)
        if not isinstance(calibration, Calibration):
            raise CalibrationError(
                f"{judge.info.name} has no calibration, without which it cannot abstain; fit one "
                "with `moonlynx calibrate` and name it by calibration=FILE"
            )
        super().__init__(judge, calibration)
        self.abstains = True
        self.passed_up_to = _passed_up_to(calibration, risk, confidence)
        self._promise = (
            f"at most {100 * risk:g} % of passed answers are hallucinated "
            f"({100 * confidence:g} % confidence)"
        )

    def _fill(self, verdict: Verdict) -> Verdict:
        raw_score = verdict.raw_score
        if verdict.score != "PASS" or (raw_score is not None and raw_score <= self.passed_up_to):
            return verdict
        found = "there is no raw score" if raw_score is None else f"raw score {raw_score:g}"
        message = f"{found}; up to {self.passed_up_to:g}, {self._promise}"
        error = JudgeError(code="abstained", message=message)
        return verdict.model_copy(update={"score": None, "error": error})


def _passed_up_to(calibration: Calibration, risk: float, confidence: float) -> float:
    curve, threshold = calibration.curve, calibration.lowest
    if curve is None:
        raise CalibrationError(
            f"the calibration of {calibration.judge.name} is of version "
            f"{calibration.schema_version}, which cannot tell when to abstain; write it anew with "
            "`moonlynx calibrate`"
        )
    found = curve.certify(risk, confidence=confidence, below=threshold)
    if found is not None:
        return found
    lowest = curve.lowest_risk(risk, confidence=confidence, below=threshold)
    reachable = "none can be" if lowest is None else f"the lowest that can be is {lowest:g}"
    raise CalibrationError(
        f"the {calibration.rows} labelled rows of the calibration cannot vouch for a risk of "
        f"{risk:g} with {100 * confidence:g} % confidence; {reachable}. For {risk:g} it takes at "
        f"least {rows_needed(risk, confidence)} labelled rows of low raw score, were none of them "
        "FAIL, and more where some are"
    )
