"""Run judges for a frontier and write it: `frontier.json`, `.md`, `.csv` and a figure a judge."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from moonlynx import __version__
from moonlynx.judge.contract.spec import parse_spec

from .benchmarks import Benchmark, BenchmarkError
from .bootstrap import draw_weights, interval
from .figures import Series, draw
from .frontier import RECORDED, Answers, Frontier, FrontierReport, draw_frontier, recorded
from .intervals import LEVEL, Value
from .markdown import table
from .outcomes import Gold
from .provenance import File, git_commit
from .records import MAJORITY, Bootstrap
from .run import Progress, judge_benchmark, verdict_file

_SHOWN = (0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)  # points in the tables: every tenth part
_SPAN = (0.3, 0.8)


def run_frontier(
    benchmark: Benchmark,
    first: Sequence[str],
    second: Sequence[str],
    output: Path,
    *,
    command: str,
    progress: Progress,
    batch_size: int,
    resamples: int,
    seed: int,
) -> FrontierReport:
    """Judge the benchmark with each judge that is no record, and draw each first with each second.

    Args:
        benchmark: what is judged; it is only evaluated.
        first: names of judges that give raw scores.
        second: names of judges, or `recorded:NAME` for a detector whose answers come with the rows.
        output: folder, created if missing; a stopped run resumes from it.
        command: what the report shows as its command.
        progress: shows the progress over so many rows.
        batch_size: rows given to a judge at once.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        BenchmarkError: the rows lack a detector's answers, or a first judge has no raw scores.
        MoonlynxError: as `run_evaluation`.
    """
    later = [_answers(benchmark, name) for name in second if name.startswith(RECORDED)]
    output.mkdir(parents=True, exist_ok=True)
    gold, outcomes, files = Gold(benchmark.rows), {}, []
    firsts = [parse_spec(name) for name in first]
    seconds = [parse_spec(name) for name in second if not name.startswith(RECORDED)]
    for spec, parsed in {str(spec): spec for spec in (*firsts, *seconds)}.items():
        judged = judge_benchmark(benchmark, parsed, output, batch_size, progress)
        outcomes[spec] = gold.outcomes(judged.verdicts)
        files.append(File.of(verdict_file(output, spec)))
    for spec in map(str, firsts):
        if np.isnan(outcomes[spec].raw_score).all():
            raise BenchmarkError(f"{spec} gives no raw scores: nothing says where it is unsure")
    later += [Answers(spec, outcomes[spec].said) for spec in map(str, seconds)]
    majority = "FAIL" if 2 * gold.fail.sum() > len(gold.fail) else "PASS"
    report = FrontierReport(
        package_version=__version__,
        git_commit=git_commit(),
        date=date.today(),
        command=command,
        benchmark=benchmark.about.name,
        split=benchmark.split,
        source=benchmark.about.source,
        test_only=benchmark.test_only,
        rows=len(benchmark.rows),
        fail_rows=int(gold.fail.sum()),
        majority=majority,
        majority_accuracy=_majority(gold, resamples, seed),
        rows_sha256=benchmark.rows_sha256(),
        bootstrap=Bootstrap(level=LEVEL, resamples=resamples, seed=seed),
        files=tuple(files),
        frontiers=tuple(
            draw_frontier(spec, outcomes[spec], answers, resamples=resamples, seed=seed)
            for spec in map(str, firsts)
            for answers in later
        ),
    )
    (output / "frontier.json").write_text(report.model_dump_json(indent=1) + "\n", "utf-8")
    (output / "frontier.md").write_text(render(report), "utf-8")
    (output / "frontier.csv").write_text(write_csv(report), "utf-8")
    for name, svg in frontier_figures(report).items():
        (output / name).write_text(svg, "utf-8")
    return report


def render(report: FrontierReport) -> str:
    """Return the report as Markdown."""
    lines = [
        f"# Frontier on {report.benchmark} ({report.split})",
        f"{report.rows:,} rows, {report.fail_rows:,} FAIL."
        + (" Test only: evaluated, nothing chosen on them." if report.test_only else ""),
        "The first judge hands on the answers of which it is least sure, the same share of its "
        "PASS and of its FAIL verdicts, to the second. At 0 % the first is alone, at 100 % the "
        "second. *Gain* is accuracy less that of handing on as many at random. Percent, with "
        f"{report.bootstrap.level:.0%} intervals: {report.bootstrap.method} bootstrap over rows, "
        f"{report.bootstrap.resamples:,} resamples, seed {report.bootstrap.seed}. Every "
        f"{100 // (len(report.frontiers[0].points) - 1)} % is in `frontier.csv`.",
        f"{MAJORITY} ({report.majority}): accuracy {_percent(report.majority_accuracy)}, balanced "
        "accuracy 50.0.",
    ]
    for first in dict.fromkeys(each.first for each in report.frontiers):
        lines.append(f"## `{first}` first\n\n![Frontier]({_figure_name(first)})")
        of_first = (each for each in report.frontiers if each.first == first)
        lines += [f"### then `{each.second}`\n\n{_table(each)}" for each in of_first]
    lines.append(
        "## Where this comes from\n\n"
        f"{report.describe()}\n"
        f"- Rows: {report.source}; sha256 `{report.rows_sha256}`\n"
        + "\n".join(f"- Verdicts: {file.path} (sha256 `{file.sha256}`)" for file in report.files)
    )
    return "\n\n".join(lines) + "\n"


def write_csv(report: FrontierReport) -> str:
    """Return all points as CSV, shares from 0 to 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("accuracy", "balanced_accuracy", "gain")
    bounds = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    writer.writerow(["first", "second", "handed_on", *bounds])
    for each in report.frontiers:
        for point in each.points:
            values: Iterable[Value] = (getattr(point, name) for name in names)
            cells = [
                "" if number is None else f"{number:.4f}"
                for value in values
                for number in (value.value, value.low, value.high)
            ]
            writer.writerow([each.first, each.second, f"{point.handed_on:.4f}", *cells])
    return text.getvalue()


def frontier_figures(report: FrontierReport) -> dict[str, str]:
    """Return file name and SVG of each first judge's figure: its curves of balanced accuracy."""
    return {
        _figure_name(first): draw(
            f"Frontier on {report.benchmark}, {first} first",
            ("share handed on to the second judge", "balanced accuracy"),
            [_series(each) for each in report.frontiers if each.first == first],
            "",
            "left: the first judge alone; right: the second alone",
            _SPAN,
        )
        for first in dict.fromkeys(each.first for each in report.frontiers)
    }


def _answers(benchmark: Benchmark, name: str) -> Answers:
    try:
        return Answers(name, recorded(benchmark.rows, name.removeprefix(RECORDED)))
    except KeyError:
        known = ", ".join(sorted({key for row in benchmark.rows for key in row.recorded}))
        raise BenchmarkError(
            f"the rows of {benchmark.about.name} tell nothing of {name!r}; "
            + (f"they tell of {known}" if known else "they hold no recorded answers")
        ) from None


def _majority(gold: Gold, resamples: int, seed: int) -> Value:
    n, fails = len(gold.fail), gold.fail.astype(np.float64)
    right = fails if 2 * fails.sum() > n else 1 - fails
    weights = draw_weights(n, resamples, np.random.default_rng((seed, 4)))
    return interval(float(right.mean()), np.concatenate([each @ right / n for each in weights]))


def _table(frontier: Frontier) -> str:
    rows = [
        [
            f"{100 * point.handed_on:.1f}",
            *(_percent(v) for v in (point.accuracy, point.balanced_accuracy, point.gain)),
        ]
        for point in (frontier.points[step] for step in _SHOWN)
    ]
    return table(["handed on, %", "accuracy", "balanced accuracy", "gain"], rows, left=())


def _percent(value: Value) -> str:
    if value.value is None:
        return "–"
    text = f"{100 * value.value:.1f}"
    if value.low is None or value.high is None:
        return text
    return f"{text} [{100 * value.low:.1f}, {100 * value.high:.1f}]"


def _series(frontier: Frontier) -> Series:
    points = [
        (point.handed_on, point.balanced_accuracy.value)
        for point in frontier.points
        if point.balanced_accuracy.value is not None
    ]
    return Series(f"then {frontier.second}", points, [])


def _figure_name(first: str) -> str:
    return f"frontier-{re.sub(r'[^A-Za-z0-9._-]+', '-', first)[:60].strip('-')}.svg"
