"""A judge of answers as the metric context_adherence: the reverse of `MetricJudge`."""

from collections.abc import Sequence

from ..contract.base import Judge
from ..contract.types import Example, JudgeError, MetricInput, MetricSpan, MetricVerdict, Verdict
from .definition import load_definition
from .metric import DIGITS
from .prompt import fault_of

ADHERENCE = "context_adherence"


class JudgeMetric:
    """Asks a judge whether the documents bear the output out.

    P(false) is the judge's calibrated probability, or 1 and 0 for FAIL and PASS of a judge without
    one; it holds from where the judge's threshold is. The words without support are its spans.
    """

    spans = True

    def __init__(self, judge: Judge) -> None:
        """Take any judge."""
        self.info = judge.info
        self.definition = load_definition(ADHERENCE)
        calibration = getattr(judge, "calibration", None)
        self.calibrated = calibration is not None
        self.thresholds: dict[str, float] = {}
        if calibration is not None:
            self.thresholds["false"] = calibration.probability(calibration.threshold)
        self._judge = judge

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs."""
        read = [self._example(one) for one in inputs]
        examples = [one for one in read if isinstance(one, Example)]
        verdicts = iter(self._judge(examples) if examples else ())
        return [
            self._verdict(one, next(verdicts) if isinstance(example, Example) else example)
            for one, example in zip(inputs, read, strict=True)
        ]

    def _example(self, one: MetricInput) -> Example | JudgeError:
        if fault := fault_of(self.definition, one):
            return fault
        row = {"question": one.input, "context": one.context, "answer": one.output}
        return Example.model_validate(row)

    def _verdict(self, one: MetricInput, found: Verdict | JudgeError) -> MetricVerdict:
        error = found if isinstance(found, JudgeError) else found.error
        if isinstance(found, JudgeError) or error is not None:
            return MetricVerdict(id=one.id, metric=ADHERENCE, error=error)
        p = found.probability
        if p is None:
            p = float(found.score == "FAIL")
        spans = tuple(
            MetricSpan(**span.model_dump(), label="false", field="output") for span in found.spans
        )
        return MetricVerdict(
            id=one.id,
            metric=ADHERENCE,
            labels={"true": round(1 - p, DIGITS), "false": round(p, DIGITS)},
            spans=spans,
            usage=found.usage,
        )
