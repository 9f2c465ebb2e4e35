"""Measure subjects in turns, so that other load on the machine affects all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from .subjects import Sample, Subject, Work, measure

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

_LEAST = 3  # rounds, where as many may be taken


class Cell(NamedTuple):
    """Input tokens of each example, and examples given at once."""

    tokens: int
    batch: int

    @property
    def size(self) -> int:
        """Return the number of tokens."""
        return self.tokens * self.batch


class Budget(NamedTuple):
    """What a cell may take: about so many seconds, and rounds at most."""

    seconds: float
    rounds: int

    def plan(self, cost: float) -> int:
        """Return how many rounds of `cost` seconds to take; 0 where a single one takes too long."""
        if cost > self.seconds:
            return 0
        wanted = max(_LEAST, int(self.seconds / cost)) if cost else self.rounds
        return min(wanted, self.rounds)


@dataclass
class Rounds:
    """What was measured.

    Attributes:
        samples: by cell and subject's name; the nth of every subject is from the nth round.
        left_out: subjects that could not be brought up and cells that would have taken too long,
            with the reason.
    """

    samples: dict[Cell, dict[str, list[Sample]]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def measure_rounds(
    subjects: Sequence[Subject], cells: Sequence[Cell], budget: Budget, say: Callable[[str], None]
) -> Rounds:
    """Measure the subjects in each cell, from the smallest to the largest.

    Args:
        subjects: each is run in a process of its own.
        cells: what to measure, at least one.
        budget: of each cell; one of which a single round would take longer is left out.
        say: called with messages on the progress.
    """
    cells = sorted(cells, key=lambda cell: cell.size)
    rounds, seeds = Rounds(), count()
    with ExitStack() as stack:
        sides: list[_Side] = []
        for subject in subjects:
            pool = own_process()
            side = _Side(subject, stack.enter_context(pool))
            say(f"bringing up {subject.name}")
            try:
                for _ in range(2):  # the first loads it
                    side.measure(cells[0], next(seeds))
            except RuntimeError as error:
                rounds.left_out[subject.name] = str(error)
            else:
                sides.append(side)
        for cell in cells:
            cost = sum(side.forecast(cell) for side in sides)
            planned = budget.plan(cost)
            say(f"{cell.batch} x {cell.tokens:,} tokens: {planned} rounds of about {cost:.1f} s")
            if planned:
                rounds.samples[cell] = _measure_cell(cell, sides, planned, seeds)
            else:
                reason = f"one round would take about {cost:.0f} s; raise --seconds"
                rounds.left_out[f"{cell.batch} x {cell.tokens:,} tokens"] = reason
    return rounds


class _Side:
    """A subject in its process, and how fast it was when it was last measured."""

    def __init__(self, subject: Subject, pool: ProcessPoolExecutor) -> None:
        self.subject = subject
        self._pool = pool
        self._last = (1, 0.0)

    def measure(self, cell: Cell, seed: int) -> Sample:
        sample = self._pool.submit(measure, self.subject, Work(*cell, seed)).result()
        self._last = (cell.size, sample.seconds)
        return sample

    def forecast(self, cell: Cell) -> float:
        """Return about how many seconds the cell would take."""
        size, seconds = self._last
        return seconds * cell.size / size if self.subject.grows else seconds


def _measure_cell(
    cell: Cell, sides: Sequence[_Side], planned: int, seeds: Iterator[int]
) -> dict[str, list[Sample]]:
    """Measure the sides in turns, each round from the next one on, over the same new texts."""
    samples: dict[str, list[Sample]] = {side.subject.name: [] for side in sides}
    for turn in range(planned):
        first, seed = turn % len(sides), next(seeds)
        for side in (*sides[first:], *sides[:first]):
            samples[side.subject.name].append(side.measure(cell, seed))
    return samples


def own_process() -> ProcessPoolExecutor:
    """Return an executor with one process, started at its first work and kept until it is left."""
    # Here, because the import notes the main module anew.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))
