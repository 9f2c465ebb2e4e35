"""What a judge is: a callable over batches, and the pieces every judge builds its verdicts with."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from .types import ErrorCode, Example, JudgeError, JudgeInfo, Stage, Usage, Verdict


@runtime_checkable
class Judge(Protocol):
    """Judges a batch: one verdict per example, in order, each independent of its neighbours.

    A judge that is made for some languages alone states them as `languages`, a tuple of ISO 639
    codes; `load_judge` then warns of others.
    """

    info: JudgeInfo

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples. Faults of one example become that verdict's error."""


@runtime_checkable
class AsyncJudge(Judge, Protocol):
    """A judge whose backend waits on a network, with its async twin."""

    async def acall(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples without blocking the event loop."""


def with_documents(judge: Judge, example: Example) -> Example:
    """Return the example with the texts that evidence is in, where it names them in an index."""
    expand = getattr(judge, "expand", None)
    return expand(example) if expand else example


def unscored(
    judge: JudgeInfo,
    example_id: str | int | None,
    code: ErrorCode,
    message: str,
    usage: Usage = Usage(),  # noqa: B008 (frozen)
) -> Verdict:
    """Return the verdict of something that could not be scored."""
    error = JudgeError(code=code, message=message)
    return Verdict(id=example_id, score=None, judge=judge, usage=usage, error=error)


def stages_of(verdict: Verdict) -> tuple[Stage, ...]:
    """Return the verdict's stages; of a judge by itself, the one that it is."""
    own = Stage(
        judge=verdict.judge.name,
        score=verdict.score,
        decided=verdict.score is not None,
        usage=verdict.usage,
    )
    return verdict.stages or (own,)
