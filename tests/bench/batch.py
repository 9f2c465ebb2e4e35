"""Measure the batch command as a user runs it: rows per second and peak memory.

`python -m tests.bench.batch` (or `make bench`) judges RAGTruth's test rows, once and four times
over, with token-similarity in its three metrics. Memory that stays flat from 1x to 4x shows that
rows are streamed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.judge.contract.types import Example

from .record import (
    AgainstOption,
    Bench,
    BenchError,
    Measurement,
    Origin,
    ReportOption,
    publish,
    run,
)

_RUNS = 3
# Judge, how often the rows are repeated, runs.
_PLAN = (
    ("token-similarity", 1, _RUNS),
    ("token-similarity", 4, 1),
    ("token-similarity?metric=bleu", 1, 1),
    ("token-similarity?metric=rouge", 1, 1),
)


class Cost(NamedTuple):
    """What one run of a command took."""

    seconds: float
    peak_mb: float


def command(report: ReportOption = None, against: AgainstOption = None) -> None:
    """Measure the batch command."""
    origin = Origin.of("batch")
    lines = [
        row.example.model_dump_json(include={"context", "answer"}) + "\n"
        for row in load_benchmark("ragtruth").rows
        if isinstance(row.example, Example)
    ]
    start = _median([_cost(["--version"]) for _ in range(_RUNS)])
    measurements: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "rows.jsonl"), Path(folder, "verdicts.jsonl")
        for judge, fold, runs in _PLAN:
            source.write_text("".join(fold * lines), encoding="utf-8")
            words = ["judge", "--judge", judge, "--input", str(source), "--output", str(output)]
            costs = [_cost(words, output) for _ in range(runs)]
            cost = _median(costs)
            rate = fold * len(lines) / (cost.seconds - start.seconds)
            first = measurements[0].found["rows/s"] if measurements else rate
            measurements.append(
                Measurement(
                    table="Rows per second and memory",
                    of={"judge": judge, "rows": fold * len(lines)},
                    found={
                        "rows/s": rate,
                        "of the first row's": rate / (first or rate),
                        "peak MB": cost.peak_mb,
                    },
                    samples=tuple(each.seconds for each in costs),
                )
            )
    note = (
        f"RAGTruth's test rows; the first row is the median of {_RUNS} runs. Start-up took "
        f"{start.seconds:.2f} s, which is taken off, and {start.peak_mb:.0f} MB."
    )
    bench = Bench(
        title="The batch command", origin=origin, notes=(note,), measurements=tuple(measurements)
    )
    publish(bench, "batch", report, against)


# A process's peak counts that of its parent when it was started: this small one is between.
_LAUNCH = """
import os, sys
null = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=null)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def _cost(arguments: Sequence[str], output: Path | None = None) -> Cost:
    """Run the command from its start: it would resume an earlier run's output."""
    if output is not None:
        output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "moonlynx", *arguments]
    started = time.monotonic()
    launched = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCH, *command], stdout=subprocess.PIPE, check=True
    )
    seconds = time.monotonic() - started
    code, peak_kb = map(int, launched.stdout.split())
    if code:
        raise BenchError(f"moonlynx {' '.join(arguments)} ended with {code}")
    return Cost(seconds, peak_kb / 1024)


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(median(c.seconds for c in costs), median(c.peak_mb for c in costs))


if __name__ == "__main__":
    run(command)
