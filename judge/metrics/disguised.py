"""A metric that also reads what a text hides: a head of prompt injection on both readings."""

from collections.abc import Sequence

from ..contract.types import MetricInput, MetricVerdict
from ..text.disguises import undisguise
from .metric import Metric

_VERSION = "plain1"


class DisguisedMetric:
    """Judges an input as it stands and as a model takes it; the worse of the two counts."""

    def __init__(self, head: Metric) -> None:
        """Take the head of a boolean metric."""
        assert head.definition.positive is not None
        self._head = head
        self._positive = head.definition.positive
        self.info = head.info.model_copy(update={"version": f"{head.info.version}-{_VERSION}"})
        self.definition = head.definition
        self.thresholds = head.thresholds
        self.calibrated = head.calibrated

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs."""
        verdicts = self._head(inputs)
        plain = [_undisguised(one) for one in inputs]
        others = [place for place, one in enumerate(plain) if one != inputs[place]]
        again = self._head([plain[place] for place in others])
        for place, other in zip(others, again, strict=True):
            verdicts[place] = self._worse(verdicts[place], other)
        return verdicts

    def _worse(self, one: MetricVerdict, other: MetricVerdict) -> MetricVerdict:
        if one.error is not None or other.error is not None:
            return one
        return max(one, other, key=lambda each: each.labels[self._positive])


def _undisguised(one: MetricInput) -> MetricInput:
    context = None if one.context is None else tuple(map(undisguise, one.context))
    texts = {"input": undisguise(one.input), "output": undisguise(one.output), "context": context}
    return one.model_copy(update=texts)
