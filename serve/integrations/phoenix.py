"""Phoenix: an evaluator whose scores go into OpenInference traces; needs no LLM."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, faithfulness, read_state, reason

try:
    from phoenix.evals import Evaluator, Score
except ImportError:
    raise MissingExtra("Phoenix", "phoenix") from None


class Judged(BaseModel):
    """What is read; `bind(input_mapping=...)` names it otherwise."""

    answer: str
    context: str | list[str]
    question: str = ""


class GroundednessEvaluator(Evaluator):
    """Scores 1 for supported to 0; without a score the label is null, and explained."""

    def __init__(self, judge: str | Judge = DEFAULT_JUDGE) -> None:
        super().__init__(name="groundedness", kind="code", input_schema=Judged)
        self._grounding = Grounding(judge)

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        verdict = self._grounding.check(read_state(eval_input))
        score = None if verdict.score is None else faithfulness(verdict)
        told = {"label": verdict.score, "explanation": reason(verdict)}
        return [Score(name=self.name, score=score, kind=self.kind, **told)]
