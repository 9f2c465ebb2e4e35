"""What all frameworks share: one answer in, one verdict out, and the number they want of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Literal

from moonlynx.judge.contract.base import AsyncJudge, Judge
from moonlynx.judge.contract.correction import Correction
from moonlynx.judge.contract.types import Example, MoonlynxError, Unscored, Verdict
from moonlynx.judge.correction.corrector import arun, correct, run
from moonlynx.judge.registry import DEFAULT_JUDGE, load_judge

from .explain import explain

OnFail = Literal["block", "filter", "annotate"]


class Ungrounded(MoonlynxError, ValueError):
    """An answer FAILed where only supported ones may pass; the message shows what and where."""

    def __init__(self, example: Example, verdict: Verdict) -> None:
        super().__init__(explain(example, verdict))
        self.verdict = verdict


class Grounding:
    """Judges answers one at a time, from any number of threads or tasks."""

    def __init__(self, judge: str | Judge = DEFAULT_JUDGE) -> None:
        """Accept a judge, or load one by its name."""
        self.judge = load_judge(judge) if isinstance(judge, str) else judge
        # Judges need not be thread-safe, and frameworks use many threads.
        self._alone = Lock()

    def check(self, example: Example) -> Verdict:
        """Judge one answer."""
        with self._alone:
            (verdict,) = self.judge([example])
        return verdict

    async def acheck(self, example: Example) -> Verdict:
        """Judge one answer without blocking the event loop."""
        if not isinstance(self.judge, AsyncJudge):
            return await asyncio.to_thread(self.check, example)
        (verdict,) = await self.judge.acall([example])
        return verdict

    def correct(self, example: Example, on_fail: OnFail) -> Correction:
        """Take out of one answer what is unsupported in it, or mark it."""
        work = correct(example, marking=on_fail == "annotate")
        return run(work, lambda some: [*map(self.check, some)])

    async def acorrect(self, example: Example, on_fail: OnFail) -> Correction:
        """Correct one answer without blocking the event loop."""

        async def judge(some: Sequence[Example]) -> list[Verdict]:
            return [await self.acheck(one) for one in some]

        return await arun(correct(example, marking=on_fail == "annotate"), judge)


def read_example(answer: str, context: str | Iterable[str], question: str = "") -> Example:
    """Build the row from a framework's texts.

    Raises:
        BadInput: the answer or the context holds no text.
    """
    documents = context if isinstance(context, str) else list(context)
    return Example.from_row({"question": question, "context": documents, "answer": answer})


def read_state(state: Mapping[str, Any]) -> Example:
    """Build the row from a mapping with `answer`, `context` and, where there is one, `question`.

    The context is a text, or a list of texts or of documents that have `page_content`.
    """
    context = state.get("context") or ()
    documents = context if isinstance(context, str) else [_text(one) for one in context]
    return read_example(state.get("answer") or "", documents, state.get("question") or "")


def _text(document: Any) -> str:
    return document if isinstance(document, str) else str(document.page_content)


def faithfulness(verdict: Verdict) -> float:
    """Return the share of claims supported, in [0, 1], as RAGAS and DeepEval define it.

    Of a judge that labels no claims it is 1 - P(hallucinated); if that is not calibrated, or
    nothing is claimed, 1 for PASS, 0 for FAIL.

    Raises:
        Unscored: the verdict has no score.
    """
    if verdict.score is None:
        raise Unscored(verdict)
    if verdict.faithfulness is not None:
        return verdict.faithfulness
    if verdict.probability is not None and not verdict.sentences:
        return 1.0 - verdict.probability
    return float(verdict.score == "PASS")


def reason(verdict: Verdict) -> str:
    """Return the judge's reasons, or why there is no score, a line each."""
    if verdict.error is not None:
        return f"{verdict.error.code}: {verdict.error.message}"
    return "\n".join(verdict.reasoning)
