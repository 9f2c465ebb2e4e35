"""MLflow: a scorer for `mlflow.genai.evaluate` that needs no LLM."""

from __future__ import annotations

from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, faithfulness, read_state, reason

try:
    from mlflow.entities import Feedback
    from mlflow.genai.scorers import Scorer, scorer
except ImportError:
    raise MissingExtra("MLflow", "mlflow") from None


def groundedness_scorer(judge: str | Judge = DEFAULT_JUDGE) -> Scorer:
    """Return a scorer of 1 for supported to 0, with the reasons; without a score, an error.

    `outputs` hold `answer` and `context`; `inputs` may hold `question`.
    """
    grounding = Grounding(judge)

    @scorer(name="groundedness")
    def groundedness(inputs: dict[str, Any], outputs: dict[str, Any]) -> Feedback:
        verdict = grounding.check(read_state({**inputs, **outputs}))
        if verdict.score is None:
            return Feedback(name="groundedness", error=reason(verdict))
        return Feedback(name="groundedness", value=faithfulness(verdict), rationale=reason(verdict))

    return groundedness
