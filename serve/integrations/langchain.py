"""LangChain: a guard to run after a chain, and an evaluator for `langsmith`'s `evaluate`.

LangChain 1.0 left its own evaluators (`StringEvaluator`) behind in `langchain-classic`; what takes
their place is a plain function of `inputs` and `outputs`, as `langsmith` and `openevals` use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.correction import Correction
from moonlynx.judge.contract.types import Example, Unscored, Verdict
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, OnFail, Ungrounded, faithfulness, read_state, reason

try:
    from langchain_core.runnables import Runnable, RunnableLambda
except ImportError:
    raise MissingExtra("LangChain", "langchain") from None

State = Mapping[str, Any]


def groundedness_guard(
    judge: str | Judge = DEFAULT_JUDGE, *, halt: bool = True, on_fail: OnFail = "block"
) -> Runnable[State, dict[str, Any]]:
    """Return a runnable that adds `verdict` to a mapping with `answer`, `context` and `question`.

    The context is a text, or a list of texts or Documents; the question may be left out. With
    `on_fail` "filter" or "annotate" an answer that FAILs is replaced by what is left of it, or
    marked; `correction` says what was changed, and `verdict` is that of the answer returned.
    """
    grounding = Grounding(judge)

    def let_pass(state: State, example: Example, verdict: Verdict) -> dict[str, Any]:
        if halt and verdict.score is None:
            raise Unscored(verdict)
        if halt and verdict.score == "FAIL":
            raise Ungrounded(example, verdict)
        return {**state, "verdict": verdict}

    def replace(state: State, made: Correction) -> dict[str, Any]:
        if halt and made.outcome == "unscored":
            raise Unscored(made.before)
        verdict = made.after or made.before
        return {**state, "answer": made.answer, "correction": made, "verdict": verdict}

    def guard(state: State) -> dict[str, Any]:
        example = read_state(state)
        if on_fail == "block":
            return let_pass(state, example, grounding.check(example))
        return replace(state, grounding.correct(example, on_fail))

    async def aguard(state: State) -> dict[str, Any]:
        example = read_state(state)
        if on_fail == "block":
            return let_pass(state, example, await grounding.acheck(example))
        return replace(state, await grounding.acorrect(example, on_fail))

    return RunnableLambda(guard, afunc=aguard, name="groundedness_guard")


def groundedness_evaluator(judge: str | Judge = DEFAULT_JUDGE) -> Callable[..., dict[str, Any]]:
    """Return an evaluator that computes `key`, `score` (1 = supported, in [0, 1]) and `comment`.

    `outputs` of a run hold `answer` and `context`; its `inputs` may hold `question`. An answer that
    could not be scored has the score None, and the comment says why.
    """
    grounding = Grounding(judge)

    def groundedness(
        inputs: dict[str, Any],
        outputs: dict[str, Any],
        reference_outputs: dict[str, Any] | None = None,  # noqa: ARG001 (evaluators are given it)
    ) -> dict[str, Any]:
        verdict = grounding.check(read_state({**inputs, **outputs}))
        score = None if verdict.score is None else faithfulness(verdict)
        return {"key": "groundedness", "score": score, "comment": reason(verdict)}

    return groundedness
