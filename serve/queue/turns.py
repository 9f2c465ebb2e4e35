"""Whose turn it is: the requests before a judge, and their work under way."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.steps import Done, Progress, Step, steps_of
from moonlynx.judge.contract.types import Example, Verdict

_LIKE = 4  # times its characters that a row may have which is judged together with it
_FIRST = 32  # turns within which a request counts as new
Rank = tuple[int, int]


@dataclass(eq=False)
class Asker:
    """A request, and the turns that it had."""

    number: int
    patient: bool
    turns: int = 0

    @property
    def rank(self) -> Rank:
        """Return its place in line: by turns, in powers of two, and among equals by arrival."""
        return (self.turns // _FIRST).bit_length(), self.number


@dataclass(frozen=True)
class Row:
    """A row that waits; `since` is the time by the event loop's clock."""

    example: Example
    asker: Asker
    characters: int
    since: float

    @property
    def rank(self) -> Rank:
        """Return the place in line of its request."""
        return self.asker.rank

    def is_like(self, other: Row) -> bool:
        """Return whether neither would wait long for the other, were they judged together."""
        short, long = sorted((self.characters, other.characters))
        return self.rank[0] == other.rank[0] and long <= _LIKE * short


class Batch:
    """Rows that are judged together, in steps."""

    def __init__(self, judge: Judge, rows: Sequence[tuple[Future[Verdict], Row]]) -> None:
        self.pairs = rows
        self.askers = {row.asker for _, row in rows}
        self.work = steps_of(judge, [row.example for _, row in rows])
        self.reply: list[Verdict] | None = None  # to the last step
        self.seconds = 0.0  # of work that went into it
        self.share = 0.0  # of the work that is done

    @property
    def rank(self) -> Rank:
        """Return the best place in line of its requests."""
        return min(asker.rank for asker in self.askers)

    @property
    def given_up(self) -> bool:
        """Return whether no client waits for any of its rows."""
        return all(future.done() for future, _ in self.pairs)

    @property
    def patient(self) -> bool:
        """Return whether none of its rows has a deadline."""
        return all(asker.patient for asker in self.askers)

    @property
    def length(self) -> int:
        """Return the characters of its answers."""
        return length(row for _, row in self.pairs)

    def add(self, seconds: float, step: Step | Done) -> None:
        """Count a turn."""
        self.seconds += seconds
        if isinstance(step, Progress):
            self.share = step.rows / len(self.pairs)
        for asker in self.askers:
            asker.turns += 1


def characters(example: Example) -> int:
    """Return the characters of question, documents and answer."""
    return len(example.question) + sum(map(len, example.context)) + len(example.answer)


def length(rows: Iterable[Row]) -> int:
    """Return the characters of the rows' answers."""
    return sum(len(row.example.answer) for row in rows)
