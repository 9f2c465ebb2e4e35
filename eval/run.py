"""Run judges over a benchmark into a folder: verdicts, `report.json`, `report.md`, figures."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import NamedTuple

from moonlynx.judge.batch.judging import Tally, judge_rows, read_timings, read_verdicts
from moonlynx.judge.contract.spec import Spec, parse_spec
from moonlynx.judge.contract.types import Example
from moonlynx.judge.decision.cost import PriceTable
from moonlynx.judge.registry import load_judge
from moonlynx.judge.rows.examples import Row

from .benchmarks import Benchmark, BenchmarkError
from .figures import figures
from .provenance import JudgeRun, git_commit
from .records import Report
from .report import Judged, build_report
from .report_pages import render
from .slices import scipy_stats

Progress = Callable[[int], AbstractContextManager[Callable[[Tally], None]]]


class Settings(NamedTuple):
    """How judges are run and measured."""

    command: str
    progress: Progress
    batch_size: int
    resamples: int
    seed: int


def run_evaluation(
    benchmark: Benchmark,
    judges: Sequence[str],
    output: Path,
    settings: Settings,
    prices: PriceTable | None = None,
    judge_by: Callable[[Benchmark, Spec, Path, Settings], Judged] | None = None,
) -> Report:
    """Judge the benchmark with each of the judges, and write their results.

    A run that was stopped resumes where it stopped: the verdicts in `output` are kept. `judge_by`
    is `judge_benchmark`, or what does the same in another process.

    Raises:
        MoonlynxError: a judge cannot be loaded, `output` holds verdicts of another run, or an
            optional package is missing.
    """
    scipy_stats()  # not after hours of judging
    specs = [parse_spec(name) for name in judges]
    if len(set(map(str, specs))) < len(specs):
        raise BenchmarkError("the same judge is named twice")
    output.mkdir(parents=True, exist_ok=True)
    judge = judge_by or judge_benchmark
    judged = [judge(benchmark, spec, output, settings) for spec in specs]
    report = build_report(
        benchmark,
        judged,
        command=settings.command,
        today=date.today(),
        git_commit=git_commit(),
        resamples=settings.resamples,
        seed=settings.seed,
        prices=prices,
    )
    texts = {"report.json": report.model_dump_json(indent=2) + "\n", "report.md": render(report)}
    for name, text in (texts | figures(report)).items():
        (output / name).write_text(text, encoding="utf-8")
    return report


def verdict_file(output: Path, spec: str) -> Path:
    """Return the file in `output` for the verdicts of the judge called `spec`."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", spec)[:60].strip("-")
    if plain != spec:
        plain += "-" + hashlib.sha256(spec.encode("utf-8")).hexdigest()[:8]
    return output / f"verdicts-{plain}.jsonl"


def judge_benchmark(benchmark: Benchmark, spec: Spec, output: Path, settings: Settings) -> Judged:
    """Judge the benchmark with one judge; verdicts and times stay in `output`."""
    judge = load_judge(spec)
    path = verdict_file(output, str(spec))
    timings = path.with_suffix(".timings.jsonl")
    with settings.progress(len(benchmark.rows)) as on_progress:
        judge_rows(
            judge,
            _without_gold(benchmark),
            path,
            run={"spec": str(spec), "rows_sha256": benchmark.rows_sha256()},
            batch_size=settings.batch_size,
            timings=timings,
            on_progress=on_progress,
        )
    return Judged(
        JudgeRun.of(spec, judge.info, path),
        list(read_verdicts(path)),
        getattr(judge, "calibration", None),
        read_timings(timings),
    )


def _without_gold(benchmark: Benchmark) -> Iterator[Row]:
    for number, row in enumerate(benchmark.rows, start=1):
        example = row.example
        if isinstance(example, Example):
            example = example.model_copy(update={"label": None, "spans": None})
        yield Row(number, row.id, example)
