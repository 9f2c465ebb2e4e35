"""What a judge is: a callable over batches, and the pieces every judge builds its verdicts with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from .types import ErrorCode, Example, JudgeError, JudgeInfo, Usage, Verdict


@runtime_checkable
class Judge(Protocol):
    """Judges a batch: one verdict per example, in order, each independent of its neighbours."""

    info: JudgeInfo

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples. Faults of one example become that verdict's error."""
        ...


@runtime_checkable
class AsyncJudge(Judge, Protocol):
    """A judge whose backend waits on a network, with its async twin."""

    async def acall(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples without blocking the event loop."""
        ...


def unscored(
    judge: JudgeInfo,
    example_id: str | int | None,
    code: ErrorCode,
    message: str,
    usage: Usage = Usage(),  # noqa: B008 (frozen)
) -> Verdict:
    """Give the verdict of something that could not be scored."""
    error = JudgeError(code=code, message=message)
    return Verdict(id=example_id, score=None, judge=judge, usage=usage, error=error)
