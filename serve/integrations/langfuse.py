"""Langfuse: an evaluator for `run_experiment` that needs no LLM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, faithfulness, read_state, reason

try:
    from langfuse import Evaluation
except ImportError:
    raise MissingExtra("Langfuse", "langfuse") from None


def groundedness_evaluator(judge: str | Judge = DEFAULT_JUDGE) -> Callable[..., Evaluation]:
    """Return an evaluator of 1 for supported to 0, with the reasons; no score raises `Unscored`.

    The task's output holds `answer` and `context`; the item's input may hold `question`.
    """
    grounding = Grounding(judge)

    def groundedness(*, input: Any, output: Mapping[str, Any], **_: Any) -> Evaluation:  # noqa: A002
        asked = input if isinstance(input, Mapping) else {"question": str(input or "")}
        verdict = grounding.check(read_state({**asked, **output}))
        return Evaluation(name="groundedness", value=faithfulness(verdict), comment=reason(verdict))

    return groundedness
