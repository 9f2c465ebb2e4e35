"""Measure the batch command as a user runs it: rows per second and peak memory.

`python -m tests.bench.batch` (or `make bench`) judges RAGTruth's test rows, once and four
times over, with the default judge and its sisters side by side. Ratios, not seconds, carry over to
other machines; memory that stays flat from 1x to 4x shows that rows are streamed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.table import Table

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.judge.contract.types import Example
from moonlynx.judge.terminal.messages import Terminal

JUDGES = (
    "token-similarity",
    "token-similarity?metric=bleu",
    "token-similarity?metric=rouge",
)
FOLDS = (1, 4)
RUNS = 3


@dataclass(frozen=True)
class Cost:
    """What one run of a command took."""

    seconds: float
    peak_mb: float


def main() -> None:
    """Measure and print the table."""
    table = Table("judge", "rows", "rows/s", "ratio", "peak MB")
    with tempfile.TemporaryDirectory() as folder:
        inputs = _write_inputs(Path(folder))
        start = _median([_cost(["--version"]) for _ in range(RUNS)])
        plan = [(JUDGES[0], FOLDS[0], RUNS), (JUDGES[0], FOLDS[1], 1)]
        plan += [(judge, FOLDS[0], 1) for judge in JUDGES[1:]]
        base = None
        for judge, fold, runs in plan:
            path, rows = inputs[fold]
            cost = _median([_judge_cost(judge, path, Path(folder)) for _ in range(runs)])
            rate = rows / (cost.seconds - start.seconds)
            base = base or rate
            table.add_row(
                judge, str(rows), f"{rate:.0f}", f"{rate / base:.2f}", f"{cost.peak_mb:.0f}"
            )
    console = Terminal()
    console.print(f"RAGTruth test, {os.cpu_count()} cores, median of {RUNS} runs in the first row")
    console.print(f"start-up: {start.seconds:.2f} s (taken off), {start.peak_mb:.0f} MB")
    console.print(table)


def _write_inputs(folder: Path) -> dict[int, tuple[Path, int]]:
    """Write the rows once for each fold, repeated so often; return file and number of rows."""
    lines = [
        row.example.model_dump_json(include={"context", "answer"}) + "\n"
        for row in load_benchmark("ragtruth").rows
        if isinstance(row.example, Example)
    ]
    inputs = {}
    for fold in FOLDS:
        path = folder / f"rows-{fold}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for _ in range(fold):
                file.writelines(lines)
        inputs[fold] = (path, fold * len(lines))
    return inputs


def _judge_cost(judge: str, rows: Path, folder: Path) -> Cost:
    output = folder / "verdicts.jsonl"
    return _cost(["judge", "--judge", judge, "--input", str(rows), "--output", str(output)], output)


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
        raise SystemExit(f"moonlynx {' '.join(arguments)} ended with {code}")
    return Cost(seconds, peak_kb / 1024)


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(median(c.seconds for c in costs), median(c.peak_mb for c in costs))


if __name__ == "__main__":
    main()
