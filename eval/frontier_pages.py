"""Run judges for a frontier and write it: `frontier.json`, `.md`, `.csv` and a figure a judge."""

import csv
import io
import re
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

from moonlynx import __version__
from moonlynx.judge.contract.spec import parse_spec

from .benchmarks import Benchmark, BenchmarkError
from .bootstrap import interval
from .figures import Series, draw
from .frontier import NAMES, RECORDED, Answers, Frontier, FrontierReport, draw_frontier, recorded
from .intervals import LEVEL
from .markdown import table
from .metrics import estimates, resample
from .outcomes import Gold
from .provenance import File, git_commit
from .records import MAJORITY, Bootstrap
from .report_pages import write_value
from .run import Settings, judge_benchmark, verdict_file

_SHOWN = (0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)  # points in the tables: every tenth part
_SPAN = (0.3, 0.8)
_percent = partial(write_value, "accuracy")


def run_frontier(
    benchmark: Benchmark,
    first: Sequence[str],
    second: Sequence[str],
    output: Path,
    settings: Settings,
) -> FrontierReport:
    """Judge the benchmark with each judge that is no record, and draw each first with each second.

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
        judged = judge_benchmark(benchmark, parsed, output, settings)
        outcomes[spec] = gold.outcomes(judged.verdicts)
        files.append(File.of(verdict_file(output, spec)))
    for spec in map(str, firsts):
        if np.isnan(outcomes[spec].raw_score).all():
            raise BenchmarkError(f"{spec} gives no raw scores: nothing says where it is unsure")
    later += [Answers(spec, outcomes[spec].said) for spec in map(str, seconds)]
    constant = gold.constant(gold.majority())
    (drawn,) = resample([constant], settings.resamples, (settings.seed, 4))
    report = FrontierReport(
        package_version=__version__,
        git_commit=git_commit(),
        date=date.today(),
        command=settings.command,
        benchmark=benchmark.about.name,
        split=benchmark.split,
        source=benchmark.about.source,
        test_only=benchmark.test_only,
        rows=len(benchmark.rows),
        fail_rows=int(gold.fail.sum()),
        majority=gold.majority(),
        majority_accuracy=interval(estimates(constant)["accuracy"], drawn["accuracy"]),
        rows_sha256=benchmark.rows_sha256(),
        bootstrap=Bootstrap(level=LEVEL, resamples=settings.resamples, seed=settings.seed),
        files=tuple(files),
        frontiers=tuple(
            draw_frontier(
                spec, outcomes[spec], answers, resamples=settings.resamples, seed=settings.seed
            )
            for spec in map(str, firsts)
            for answers in later
        ),
    )
    texts = {
        "frontier.json": report.model_dump_json(indent=1) + "\n",
        "frontier.md": render(report),
        "frontier.csv": write_csv(report),
    }
    for name, text in (texts | frontier_figures(report)).items():
        (output / name).write_text(text, "utf-8")
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
        + "\n".join(f"- Verdicts: {file}" for file in report.files)
    )
    return "\n\n".join(lines) + "\n"


def write_csv(report: FrontierReport) -> str:
    """Return all points as CSV, shares from 0 to 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    bounds = [f"{name}{end}" for name in NAMES for end in ("", "_low", "_high")]
    writer.writerow(["first", "second", "handed_on", *bounds])
    for each in report.frontiers:
        for point in each.points:
            values = [getattr(point, name) for name in NAMES]
            numbers = [number for value in values for number in dict(value).values()]
            cells = ["" if number is None else f"{number:.4f}" for number in numbers]
            writer.writerow([each.first, each.second, f"{point.handed_on:.4f}", *cells])
    return text.getvalue()


def frontier_figures(report: FrontierReport) -> dict[str, str]:
    """Return file name and SVG of each first judge's figure: its curves of balanced accuracy."""
    return {
        _figure_name(first): draw(
            f"Frontier on {report.benchmark}, {first} first",
            ("share handed on to the second judge", "balanced accuracy"),
            [
                Series(f"then {each.second}", _points(each), [])
                for each in report.frontiers
                if each.first == first
            ],
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


def _table(frontier: Frontier) -> str:
    rows = (
        [f"{100 * point.handed_on:.1f}", *(_percent(getattr(point, name)) for name in NAMES)]
        for point in (frontier.points[step] for step in _SHOWN)
    )
    return table(["handed on, %", "accuracy", "balanced accuracy", "gain"], rows, left=())


def _figure_name(first: str) -> str:
    return f"frontier-{re.sub(r'[^A-Za-z0-9._-]+', '-', first)[:60].strip('-')}.svg"


def _points(frontier: Frontier) -> list[tuple[float, float]]:
    points = ((point.handed_on, point.balanced_accuracy.value) for point in frontier.points)
    return [(share, value) for share, value in points if value is not None]
