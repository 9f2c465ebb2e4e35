"""Judging in bounded pieces: between two of them a caller may report progress, switch or stop.

A judge's steps are a generator. It yields after each piece of work, asks other judges by yielding
what they are to judge, and returns the verdicts; dropping it cancels. A judge that has steps
(`Stepped`) is called by running them through, and so is its async twin.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from .base import AsyncJudge, Judge
from .types import Example, JudgeInfo, Verdict

T = TypeVar("T")


class Progress(NamedTuple):
    """Progress of a call.

    Attributes:
        rows: that are judged, those under way in part.
        claims: read of the rows under way.
        known: how many these rows have.
    """

    rows: float
    claims: int
    known: int


class Ask(NamedTuple):
    """What another judge is to judge; its verdicts are sent back."""

    judge: Judge
    examples: Sequence[Example]


class Done(NamedTuple):
    """What the steps returned."""

    verdicts: list[Verdict]


Step = Progress | Ask | None
Steps = Generator[Step, list[Verdict] | None, list[Verdict]]


@runtime_checkable
class SteppedJudge(Judge, Protocol):
    """A judge whose work can be taken in pieces."""

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Judge the examples, a bounded piece of work at a time."""


class Stepped:
    """A judge that is called by running its steps, and without blocking where one that it asks is.

    Pass the judges that it asks to `__init__`.
    """

    acall: Callable[[Sequence[Example]], Awaitable[list[Verdict]]]

    def __init__(self, *asked: Judge) -> None:
        if any(isinstance(judge, AsyncJudge) for judge in asked):
            self.acall = lambda examples: afinish(self.steps(examples))

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        return finish(self.steps(examples))

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Judge the examples, a bounded piece of work at a time."""
        raise NotImplementedError


class Wrapper(Stepped):
    """A judge around another one.

    Attributes:
        info: the other's, with a mark behind its version where verdicts change.
        calibration, languages, abstains, checks, stages: the other's, where it has them.
        weights: hashes of those of the chat models that are asked, as `TalkingJudge` has one.
    """

    def __init__(self, judge: Judge, mark: str = "") -> None:
        super().__init__(judge)
        self.info = JudgeInfo(name=judge.info.name, version=f"{judge.info.version}{mark}")
        self.calibration: Any = getattr(judge, "calibration", None)
        self.languages: tuple[str, ...] = getattr(judge, "languages", ())
        self.abstains = bool(getattr(judge, "abstains", False))
        self.checks = bool(getattr(judge, "checks", False))
        self.stages: tuple[Judge, ...] = getattr(judge, "stages", ())
        self.weights: tuple[str, ...] = getattr(judge, "weights", ())
        self._judge = judge


def steps_of(judge: Judge, examples: Sequence[Example]) -> Steps:
    """Return a judge's steps; one that has none is asked for all examples at once."""
    if isinstance(judge, SteppedJudge):
        return (yield from judge.steps(examples))
    verdicts = yield Ask(judge, examples)
    assert verdicts is not None
    return verdicts


def finish(
    work: Generator[Any, Any, T], on_progress: Callable[[Progress], None] = lambda _: None
) -> T:
    """Run steps, or other work that pauses, through and return what they return."""
    reply = None
    while True:
        try:
            step = work.send(reply)
        except StopIteration as end:
            result: T = end.value
            return result
        reply = step.judge(step.examples) if isinstance(step, Ask) else None
        if isinstance(step, Progress):
            on_progress(step)


async def afinish(work: Steps) -> list[Verdict]:
    """Run steps through without blocking the event loop."""
    reply = None
    while not isinstance(step := await asyncio.to_thread(advance, work, reply), Done):
        reply = await answer(step) if isinstance(step, Ask) else None
    return step.verdicts


def advance(work: Steps, reply: list[Verdict] | None) -> Step | Done:
    """Run one step of the work."""
    try:
        return work.send(reply)
    except StopIteration as end:
        return Done(end.value)


async def answer(asked: Ask) -> list[Verdict]:
    """Return the verdicts asked for, in a thread where the judge waits on nothing."""
    if isinstance(asked.judge, AsyncJudge):
        return await asked.judge.acall(asked.examples)
    return await asyncio.to_thread(asked.judge, asked.examples)
