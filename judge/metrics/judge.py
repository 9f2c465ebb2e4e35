"""A metric of answers against their documents as a judge: `luna2:context_adherence`."""

import asyncio
import math
from collections.abc import Sequence

from ..contract.base import unscored
from ..contract.spec import SpecError
from ..contract.types import Example, MetricInput, MetricVerdict, Verdict
from ..judges.findings import claimless_verdict, claims
from .metric import Metric

_NEARLY = 1e-6  # how near a probability may come to 0 and 1 in a raw score


class MetricJudge:
    """Judges an answer by one metric: FAIL where its positive class holds.

    `raw_score` is the log-odds of that class, and `probability` its P where the metric was fitted
    on labelled rows. An answer is FAIL where its raw score reaches the threshold, by default the
    metric's own. An answer that claims nothing is PASS, and the metric is not asked.
    """

    def __init__(self, metric: Metric, threshold: float | None = None) -> None:
        """Create a judge of a metric.

        Raises:
            SpecError: the metric is not one of answers against their documents.
        """
        definition = metric.definition
        if definition.positive is None or not {"output", "context"} <= set(definition.needs):
            raise SpecError(
                f"{definition.name} is no judge of answers: it takes a boolean metric that needs "
                "output and context; run it with `moonlynx metric`"
            )
        self.info = metric.info
        self._metric = metric
        self._positive = definition.positive
        if threshold is None:
            fitted = metric.thresholds.get(self._positive, definition.threshold)
            threshold = _log_odds(fitted)
        self._threshold = threshold

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        asked = [_input(example) for example in examples if claims(example)]
        found = iter(self._metric(asked) if asked else ())
        return [
            self._verdict(next(found)) if claims(example) else claimless_verdict(example, self.info)
            for example in examples
        ]

    async def acall(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples without blocking the event loop."""
        return await asyncio.to_thread(self, examples)

    def _verdict(self, found: MetricVerdict) -> Verdict:
        if found.error is not None:
            error = found.error
            return unscored(self.info, found.id, error.code, error.message, found.usage)
        probability = found.labels[self._positive]
        raw_score = _log_odds(probability)
        return Verdict(
            id=found.id,
            score="FAIL" if raw_score >= self._threshold else "PASS",
            probability=probability if self._metric.calibrated else None,
            raw_score=raw_score,
            judge=self.info,
            usage=found.usage,
        )


def _input(example: Example) -> MetricInput:
    turns = [f"{turn.role}: {turn.content}" for turn in example.conversation]
    return MetricInput(
        id=example.id,
        input="\n".join([*turns, example.question]),
        output=example.answer,
        context=example.context,
    )


def _log_odds(probability: float) -> float:
    """Return log(p / (1 - p)) to six digits, finite at 0 and 1."""
    p = min(max(probability, _NEARLY), 1 - _NEARLY)
    return round(math.log(p / (1 - p)), 6)
