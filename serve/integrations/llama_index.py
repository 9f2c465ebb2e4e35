"""LlamaIndex: an evaluator of responses by the nodes they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, faithfulness, read_example, reason

try:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
except ImportError:
    raise MissingExtra("LlamaIndex", "llama-index") from None


class GroundednessEvaluator(BaseEvaluator):
    """Judges whether a response is supported by its contexts; needs no LLM.

    `score` is the share of claims supported, 1 - P(hallucinated) of a judge that labels none;
    `passing` is the judge's own decision. What could not be scored is an invalid result.
    """

    def __init__(self, judge: str | Judge = DEFAULT_JUDGE) -> None:
        self._grounding = Grounding(judge)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """Change nothing: the judge's scores depend on its own prompts."""

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **kwargs: Any,  # noqa: ARG002 (evaluators are given it)
    ) -> EvaluationResult:
        """Judge a response."""
        example = read_example(response or "", contexts or (), query or "")
        verdict = await self._grounding.acheck(example)
        told = {"query": query, "response": response, "contexts": contexts}
        if verdict.score is None:
            return EvaluationResult(**told, invalid_result=True, invalid_reason=reason(verdict))
        return EvaluationResult(
            **told,
            passing=verdict.score == "PASS",
            score=faithfulness(verdict),
            feedback=reason(verdict),
        )
