"""DeepEval: a metric for `assert_test` and `evaluate` that needs no LLM."""

from __future__ import annotations

from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.types import Example, Verdict
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, faithfulness, read_example, reason

try:
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase, SingleTurnParams
except ImportError:
    raise MissingExtra("DeepEval", "deepeval") from None


class GroundednessMetric(BaseMetric):
    """Whether the actual output is supported by the retrieval context, as a judge decides it.

    `score` is the share of claims supported, like that of DeepEval's FaithfulnessMetric; where the
    judge is calibrated, `score_breakdown` has its P(hallucinated). Success is the judge's PASS:
    there is no threshold to set but its own, `luna?threshold=X`.
    """

    threshold = 1.0

    _required_params = [  # noqa: RUF012 (as the base class has it)
        SingleTurnParams.INPUT,
        SingleTurnParams.ACTUAL_OUTPUT,
        SingleTurnParams.RETRIEVAL_CONTEXT,
    ]

    def __init__(self, judge: str | Judge = DEFAULT_JUDGE) -> None:
        self._grounding = Grounding(judge)
        info = self._grounding.judge.info
        self.evaluation_model = f"{info.name} {info.version}"

    @property
    def __name__(self) -> str:
        return "Groundedness"

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Judge a test case."""
        return self._keep(self._grounding.check(_example(test_case)))

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Judge a test case without blocking the event loop; see `measure`."""
        return self._keep(await self._grounding.acheck(_example(test_case)))

    def _keep(self, verdict: Verdict) -> float:
        self.score, self.reason = faithfulness(verdict), reason(verdict)
        if verdict.probability is not None:
            self.score_breakdown = {"P(hallucinated)": verdict.probability}
        self.success = verdict.score == "PASS"
        return self.score

    def is_successful(self) -> bool:
        """Return whether the judge passed the last test case."""
        return bool(self.success)


def _example(test_case: LLMTestCase) -> Example:
    context = test_case.retrieval_context or ()
    return read_example(test_case.actual_output or "", context, test_case.input)
