"""What a bench of the servers found: as records, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from statistics import median

import numpy as np

from moonlynx.eval.markdown import UNDEFINED, table
from moonlynx.judge.contract.types import Record

from ..origin import Origin

_QUARTERS = 4


class Cell(Record):
    """A server under one load.

    Attributes:
        tokens: of each request's texts.
        rates: answers a second, of each round.
        seconds: of answers, at the 50th, 95th and 99th percentile of all rounds.
        statuses: answers by HTTP status; 0: none.
        own: share of a core that the clients themselves took, at most.
    """

    server: str
    tokens: int
    clients: int
    rates: tuple[float, ...]
    seconds: tuple[float, float, float]
    statuses: dict[int, int]
    own: float


class Start(Record):
    """Seconds from the start of the process to its first verdict, of each try."""

    kind: str
    seconds: tuple[float, ...]


class Memory(Record):
    """Memory while requests come in, after the first of them.

    Attributes:
        requests: in all.
        samples: requests answered so far, and MB that the process held.
    """

    requests: int
    samples: tuple[tuple[int, float], ...]

    def slope(self) -> float:
        """Return MB for 100,000 requests: a line through the samples after the first tenth."""
        late = np.array([one for one in self.samples if one[0] >= self.requests / 10])
        if len({count for count, _ in late.tolist()}) < 2:  # of one count there is no slope
            return float("nan")
        return 1e5 * float(np.polyfit(late[:, 0], late[:, 1], 1)[0])


class Guarded(Record):
    """One sentence of a growing answer.

    Attributes:
        seconds: from the piece that made it whole to its verdict.
        windows, tokens: that the judge read for it.
    """

    seconds: float
    windows: int
    tokens: int


class ServeBench(Record):
    """A whole run. What was not measured is empty or None."""

    origin: Origin
    judge: str
    cells: tuple[Cell, ...] = ()
    starts: tuple[Start, ...] = ()
    memory: Memory | None = None
    answer_tokens: int = 0
    sentences: tuple[Guarded, ...] = ()


def render(bench: ServeBench) -> str:
    """Write it as Markdown."""
    sections = ["# The server under load", bench.origin.describe()]
    if bench.cells:
        sections += [
            f"Clients on the same machine, each with one request under way, ask for one verdict of "
            f"`{bench.judge}` at a time. Servers took turns; rates are the median of the rounds, "
            f"latencies of all rounds together. The last column is what the clients themselves "
            f"took of a core, which the server did not have.",
            table(_HEADER, _cells(bench), left=(2,)),
        ]
    if bench.starts:
        rows = (
            (start.kind, str(len(start.seconds)), *(f"{s:.2f}" for s in _spread(start.seconds)))
            for start in bench.starts
        )
        sections += [
            "## From process start to first verdict",
            table(("", "tries", "least s", "median s", "most s"), rows),
        ]
    if bench.memory:
        sections += ["## Memory", _memory(bench.memory)]
    if bench.sentences:
        sections += [
            "## The guard",
            f"An answer of {bench.answer_tokens:,} tokens, word by word. Time is from the word "
            f"that shows a sentence to be whole to its verdict. A sentence is judged once, so that "
            f"a later one costs no more than an early one:",
            table(_GUARD_HEADER, _quarters(bench), left=(0,)),
        ]
    return "\n\n".join(sections) + "\n"


_HEADER = (
    *("tokens", "clients", "server", "answers", "answers/s"),
    *("p50 ms", "p95 ms", "p99 ms", "not 200", "clients' share"),
)
_GUARD_HEADER = (
    "part of the answer",
    "sentences",
    "windows each",
    "tokens each",
    "p50 ms",
    "p95 ms",
)


def _cells(bench: ServeBench) -> Iterator[tuple[str, ...]]:
    for _, group in groupby(bench.cells, lambda cell: (cell.tokens, cell.clients)):
        for cell in group:
            answers = sum(cell.statuses.values())
            yield (
                f"{cell.tokens:,}",
                str(cell.clients),
                cell.server,
                str(answers),
                f"{median(cell.rates):.1f}",
                *(f"{1e3 * seconds:,.0f}" for seconds in cell.seconds),
                str(answers - cell.statuses.get(200, 0)),
                f"{cell.own:.2f}",
            )


def _spread(seconds: tuple[float, ...]) -> tuple[float, float, float]:
    return min(seconds), median(seconds), max(seconds)


def _memory(memory: Memory) -> str:
    held = [mb for _, mb in memory.samples]
    slope = memory.slope()
    line = UNDEFINED if np.isnan(slope) else f"{slope:+.1f} MB for 100,000 requests"
    return (
        f"{memory.requests:,} requests with an audit that keeps texts: {held[0]:.0f} MB after the "
        f"first of them, {max(held):.0f} MB at most, {held[-1]:.0f} MB after the last. The line "
        f"through all but the first tenth: {line}."
    )


def _quarters(bench: ServeBench) -> Iterator[tuple[str, ...]]:
    edges = np.linspace(0, len(bench.sentences), _QUARTERS + 1).astype(int)
    names = ("first quarter", "second", "third", "last")
    for name, start, end in zip(names, edges[:-1], edges[1:], strict=True):
        part = bench.sentences[start:end]
        if part:
            milliseconds = [1e3 * one.seconds for one in part]
            yield (
                name,
                str(len(part)),
                f"{np.mean([one.windows for one in part]):.2f}",
                f"{np.mean([one.tokens for one in part]):.0f}",
                *(f"{np.percentile(milliseconds, share):.0f}" for share in (50, 95)),
            )
