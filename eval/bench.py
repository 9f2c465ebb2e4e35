"""Measure the batch command as a user runs it: rows per second and peak memory.

`python -m moonlynx.eval.bench` (or `make bench`) judges RAGTruth's test rows, once and four times
over, with the default judge and its sisters side by side. Ratios, not seconds, carry over to other
machines; memory that stays flat from 1x to 4x shows that rows are streamed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from moonlynx.judge.types import Example

from .benchmarks import load_benchmark

JUDGES = (
    "token-similarity",
    "token-similarity?metric=bleu",
    "token-similarity?metric=rouge",
)
FOLDS = (1, 4)
RUNS = 3


@dataclass(frozen=True)
class Cost:
    """Medians over the runs of one command."""

    seconds: float
    peak_mb: float


def main() -> None:
    """Measure and print the table."""
    table = Table("judge", "rows/s", "ratio", *(f"peak MB, {fold}x rows" for fold in FOLDS))
    with tempfile.TemporaryDirectory() as folder:
        inputs, rows = _write_inputs(Path(folder))
        start = _cost(["--version"])
        base = None
        for judge in JUDGES:
            costs = [_judge_cost(judge, path, Path(folder)) for path in inputs]
            rate = rows * FOLDS[0] / (costs[0].seconds - start.seconds)
            base = base or rate
            peaks = (f"{cost.peak_mb:.0f}" for cost in costs)
            table.add_row(judge, f"{rate:.0f}", f"{rate / base:.2f}", *peaks)
    console = Console()
    console.print(f"{rows} rows of RAGTruth test, median of {RUNS} runs, {os.cpu_count()} cores")
    console.print(f"start-up: {start.seconds:.2f} s (taken off), {start.peak_mb:.0f} MB")
    console.print(table)


def _write_inputs(folder: Path) -> tuple[list[Path], int]:
    lines = [
        row.example.model_dump_json(include={"context", "answer"}) + "\n"
        for row in load_benchmark("ragtruth").rows
        if isinstance(row.example, Example)
    ]
    paths = []
    for fold in FOLDS:
        path = folder / f"rows-{fold}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for _ in range(fold):
                file.writelines(lines)
        paths.append(path)
    return paths, len(lines)


def _judge_cost(judge: str, rows: Path, folder: Path) -> Cost:
    output = folder / "verdicts.jsonl"
    return _cost(["judge", "--judge", judge, "--input", str(rows), "--output", str(output)], output)


def _cost(arguments: Sequence[str], output: Path | None = None) -> Cost:
    seconds, peaks = [], []
    for _ in range(RUNS):
        if output is not None:
            output.unlink(missing_ok=True)
        started = os.times().elapsed
        process = subprocess.Popen(  # noqa: S603 (our own command)
            [sys.executable, "-m", "moonlynx", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"moonlynx {' '.join(arguments)} ended with {process.returncode}")
        seconds.append(os.times().elapsed - started)
        peaks.append(usage.ru_maxrss / 1024)
    return Cost(median(seconds), median(peaks))


if __name__ == "__main__":
    main()
