"""What the rule tier changes in a judge: `python -m moonlynx.eval.rules_effect`.

The judge judges a benchmark without the tier, and the tier is laid over its verdicts: it touches
nothing that the judge is asked, so that this gives what `?rules=on` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from moonlynx.judge.messages import echo, errors_as_messages
from moonlynx.judge.progress import progress_bar
from moonlynx.judge.rules import RuleTier
from moonlynx.judge.types import Example, Verdict

from .benchmarks import Benchmark, BenchmarkRow, load_benchmark
from .bootstrap import Value, estimates, interval, resample
from .markdown import table
from .outcomes import Gold
from .run import judge_benchmark

_METRIC = "balanced_accuracy"
_HEADER = [
    *("judge", "benchmark", "rows", "FAIL, %", "fires", "FAIL of those, %", "without", "with"),
    *("difference", "changed", "of those made right"),
]


class Effect(NamedTuple):
    """What the tier does to one judge on one benchmark.

    Attributes:
        rows, fails: judged, and of them FAIL by their labels.
        fires, fires_fail: rows in which the tier names a literal, and of them FAIL.
        before, after: balanced accuracy without and with the tier.
        difference: after less before, over the same draws of the rows.
        changed, mended: verdicts that the tier turned into FAIL, and of them rightly.
    """

    rows: int
    fails: int
    fires: int
    fires_fail: int
    before: float
    after: float
    difference: Value
    changed: int
    mended: int


class Recorded:
    """A judge that gives back the verdicts it was given, by id."""

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        self.info = verdicts[0].judge
        self._verdicts = {verdict.id: verdict for verdict in verdicts}

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Give the verdict of each example's id."""
        return [self._verdicts[example.id] for example in examples]


def lay_over(rows: Sequence[BenchmarkRow], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Give the verdicts as they are with the tier before the judge; bad input stays what it is."""
    tier = RuleTier(Recorded(verdicts))
    return [
        tier([row.example.model_copy(update={"id": verdict.id})])[0]
        if isinstance(row.example, Example)
        else verdict
        for row, verdict in zip(rows, verdicts, strict=True)
    ]


def measure(
    rows: Sequence[BenchmarkRow], verdicts: Sequence[Verdict], *, resamples: int, seed: int
) -> Effect:
    """Lay the tier over the verdicts and measure what it changes.

    Args:
        rows: the benchmark.
        verdicts: one for each row, in their order.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    after = lay_over(rows, verdicts)
    fail = [row.label == "FAIL" for row in rows]
    fires = [bool(one.stages) and one.stages[0].decided for one in after]
    changed = [one.score != other.score for one, other in zip(verdicts, after, strict=True)]
    gold = Gold(rows)
    outcomes = [gold.outcomes(found) for found in (verdicts, after)]
    drawn = resample(outcomes, resamples, (seed,))
    without, beside = (estimates(each)[_METRIC] for each in outcomes)
    return Effect(
        rows=len(rows),
        fails=sum(fail),
        fires=sum(fires),
        fires_fail=sum(a and b for a, b in zip(fires, fail, strict=True)),
        before=without,
        after=beside,
        difference=interval(beside - without, drawn[1][_METRIC] - drawn[0][_METRIC]),
        changed=sum(changed),
        mended=sum(a and b for a, b in zip(changed, fail, strict=True)),
    )


def _cells(judge: str, benchmark: Benchmark, found: Effect) -> list[str]:
    name = f"{benchmark.about.name} ({benchmark.split})"
    low, high = found.difference.low, found.difference.high
    spread = "" if low is None or high is None else f" [{100 * low:+.1f}, {100 * high:+.1f}]"
    return [
        judge,
        name if benchmark.sampled_from is None else f"{name}, of {benchmark.sampled_from:,}",
        f"{found.rows:,}",
        f"{100 * found.fails / found.rows:.1f}",
        str(found.fires),
        f"{100 * found.fires_fail / found.fires:.1f}" if found.fires else "",
        f"{100 * found.before:.1f}",
        f"{100 * found.after:.1f}",
        f"{100 * (found.after - found.before):+.1f}{spread}",
        str(found.changed),
        str(found.mended),
    ]


def main(
    judge: Annotated[list[str], typer.Option(help="Name of a judge without the tier. Repeatable.")],
    benchmark: Annotated[list[str], typer.Option(help="NAME or NAME:SPLIT. Repeatable.")],
    output: Annotated[Path, typer.Option(help="Folder for verdicts; a stopped run goes on.")],
    limit: Annotated[
        int | None, typer.Option(min=1, help="Judge only a random sample of so many rows.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Of the bootstrap.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="Of bootstrap and sample.")] = 0,
) -> None:
    """Print balanced accuracy without and with the rule tier, in percent."""
    lines = []
    for name in benchmark:
        known, _, split = name.partition(":")
        loaded = load_benchmark(known, split=split or None, limit=limit, seed=seed)
        folder = output / name.replace(":", "-").replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        for spec in judge:
            judged = judge_benchmark(loaded, spec, folder, 32, progress_bar)
            found = measure(loaded.rows, judged.verdicts, resamples=resamples, seed=seed)
            lines.append(_cells(spec, loaded, found))
    echo(table(_HEADER, lines, left=(0, 1)))


if __name__ == "__main__":
    with errors_as_messages():
        typer.run(main)
