"""RAGAS: faithfulness by a judge instead of an LLM (Es et al., 2023, section 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, faithfulness, read_example, reason

try:
    from ragas.metrics.collections.base import BaseMetric
    from ragas.metrics.result import MetricResult
except ImportError:
    raise MissingExtra("RAGAS", "ragas") from None


class JudgedFaithfulness(BaseMetric):
    """The share of the response's claims that the contexts support, in [0, 1]; needs no LLM.

    Sentences that claim something are the claims. Judges that score whole responses return
    1 - P(hallucinated). Without a score the value is NaN, and the reason says why.
    """

    def __init__(self, judge: str | Judge = DEFAULT_JUDGE, name: str = "faithfulness") -> None:
        """Accept a judge or its name, and the metric's name in reports."""
        super().__init__(name=name)
        self._grounding = Grounding(judge)

    async def ascore(
        self, response: str, retrieved_contexts: Sequence[str], user_input: str = ""
    ) -> MetricResult:
        """Score a response."""
        example = read_example(response, retrieved_contexts, user_input)
        verdict = await self._grounding.acheck(example)
        value = math.nan if verdict.score is None else faithfulness(verdict)
        return MetricResult(value=value, reason=reason(verdict))
