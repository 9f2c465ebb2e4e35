"""From reports, and verdict files of others, to boards: one a benchmark, with a row a system."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

import yaml

from moonlynx.judge.batch.judging import read_timings, read_verdicts
from moonlynx.judge.decision.cost import PriceTable
from moonlynx.judge.files.stored import load_record
from moonlynx.judge.rows.fields import AS_NAMED, FieldMap

from ..benchmarks import LOCAL, ON_HUB, Benchmark, BenchmarkError, load_benchmark
from ..benchmarks.published import published
from ..intervals import Value
from ..provenance import File, JudgeRun
from ..records import MAJORITY, TFIDF, WRITER, BenchmarkFacts, Report
from ..report import Judged, build_report

WORD_OVERLAP = "token-similarity"
Kind = Literal["judge", "added", "published", "baseline"]


@dataclass(frozen=True)
class Entry:
    """One row of a board; what is not known is None."""

    name: str
    kind: Kind
    source: str  # name, version and threshold of a judge, or the paper
    metrics: Mapping[str, Value]  # by their names in reports
    unscored: int | None = None  # rows without a score
    # of 1,000 rows; no money where no model is called
    seconds: float | None = None
    money: float | None = None
    currency: str = ""

    @property
    def licence(self) -> str | None:
        """Return the licence, as its publishers state it."""
        return _systems().get(self.name.partition("?")[0], (None, None))[0]

    @property
    def millions(self) -> float | None:
        """Return the parameters in millions."""
        return _systems().get(self.name.partition("?")[0], (None, None))[1]


@dataclass(frozen=True)
class Board:
    """A benchmark's rows, ordered by `metric`, the one that papers report for it."""

    benchmark: BenchmarkFacts
    metric: str
    notes: tuple[str, ...]
    entries: tuple[Entry, ...]


def read_reports(runs: Sequence[Path]) -> list[Report]:
    """Read the reports in folders that `moonlynx eval` wrote.

    Raises:
        BenchmarkError: a folder holds no report.
    """
    advice = "give a folder that `moonlynx eval --output` wrote"
    return [load_record(run / "report.json", Report, BenchmarkError, advice) for run in runs]


def load_again(report: Report, data: Path | None, fields: FieldMap) -> Benchmark:
    """Load the benchmark of a report.

    Raises:
        BenchmarkError: its rows are no longer those that were judged.
    """
    facts = report.benchmark
    named = facts.name in LOCAL or facts.name in ON_HUB
    benchmark = load_benchmark(
        facts.name if named else facts.source,
        split=facts.split if named else None,
        data=data,
        limit=facts.rows if facts.sampled_from else None,
        seed=report.bootstrap.seed,
        fields=AS_NAMED if named else fields,
    )
    if benchmark.rows_sha256() != facts.rows_sha256:
        raise BenchmarkError(f"{facts.name}: the rows are not those of the report; judge them anew")
    return benchmark


def score_verdicts(
    name: str, path: Path, benchmarks: Sequence[tuple[Benchmark, Report]], prices: PriceTable
) -> Report:
    """Score a verdict file of another system, as the report scores the judges on the same rows.

    Args:
        name: the system's.
        path: its verdicts, in any order; a file of timings beside it says the seconds.
        benchmarks: the verdicts are scored on the one that shares most ids with them.
        prices: what the tokens of the verdicts cost.

    Raises:
        BenchmarkError: a row has no verdict or two, or a verdict has no row.
    """
    verdicts = list(read_verdicts(path))
    counts = Counter(verdict.id for verdict in verdicts)
    benchmark, report = max(benchmarks, key=lambda pair: sum(r.id in counts for r in pair[0].rows))
    ids = [row.id for row in benchmark.rows]
    for fault, wrong in (
        ("have no verdict", [each for each in ids if each not in counts]),
        ("have two verdicts", [each for each, count in counts.items() if count > 1]),
        ("are of other verdicts' ids", [each for each in counts if each not in set(ids)]),
    ):
        if wrong:
            raise BenchmarkError(
                f"{path}: of {benchmark.about.name}'s {len(ids):,} rows {len(wrong):,} {fault}; "
                f"the first is {wrong[0]!r}"
            )
    by_id = {verdict.id: verdict for verdict in verdicts}
    run = JudgeRun(
        spec=name,
        judge=verdicts[0].judge,
        threshold="its own",
        calibration=None,
        verdicts=File.of(path),
    )
    seconds = read_timings(path.with_suffix(".timings.jsonl"))
    return build_report(
        benchmark,
        [Judged(run, [by_id[each] for each in ids], None, seconds)],
        command="moonlynx leaderboard",
        today=date.today(),
        git_commit=None,
        resamples=report.bootstrap.resamples,
        seed=report.bootstrap.seed,
        prices=prices,
    )


def build_boards(reports: Sequence[Report], added: Sequence[Report]) -> list[Board]:
    """Join reports on the same rows; of one judge's several runs the newest counts."""
    groups: dict[str, list[Report]] = {}
    for report in sorted(reports, key=lambda report: report.date):
        groups.setdefault(report.benchmark.rows_sha256, []).append(report)
    return [
        _board(group, [report for report in added if report.benchmark.rows_sha256 == rows])
        for rows, group in groups.items()
    ]


def _board(reports: Sequence[Report], added: Sequence[Report]) -> Board:
    facts = reports[-1].benchmark
    tables = published(facts.name)
    metric = tables[0].metric if tables else "balanced_accuracy"
    judged = {entry.source: entry for report in reports for entry in _judged(report, "judge")}
    entries = [
        *judged.values(),
        *(entry for report in added for entry in _judged(report, "added")),
        *_baselines(reports[-1]),
    ]
    notes = [*facts.caveats, *(f"{table.source}. {table.note}" for table in tables)]
    if not any(entry.name == WORD_OVERLAP for entry in entries):
        notes.append(f"The word-overlap baseline is missing: judge with {WORD_OVERLAP} too.")
    for table in tables:
        for name, (*_, percent) in table.systems.items():
            value = Value(value=percent / 100, low=None, high=None)
            entries.append(Entry(name, "published", table.source, {table.metric: value}))
    entries.sort(key=lambda entry: _worth(entry.metrics.get(metric)), reverse=True)
    return Board(facts, metric, tuple(notes), tuple(entries))


def _judged(report: Report, kind: Kind) -> Iterator[Entry]:
    scores = {each.system: each for each in report.micro.systems}
    for judge in report.judges:
        costs, found, rows = judge.costs, scores[judge.spec], report.benchmark.rows
        paid = costs.money if costs.usage.calls else None
        yield Entry(
            judge.spec,
            kind,
            f"{judge.spec}: {judge.judge.name} {judge.judge.version}, threshold {judge.threshold}",
            found.metrics,
            found.unscored,
            seconds=None if costs.seconds is None else 1_000 * costs.seconds / rows,
            money=None if paid is None else 1_000 * paid / rows,
            currency=costs.currency,
        )


def _baselines(report: Report) -> Iterator[Entry]:
    judges = {judge.spec for judge in report.judges}
    for each in report.micro.systems:
        if each.system not in judges:
            label = f" ({report.micro.majority})" if each.system == MAJORITY else ""
            fitted = each.system in (TFIDF, WRITER)
            about = "fitted to the training part, reads no document" if fitted else "a constant"
            yield Entry(each.system + label, "baseline", about, each.metrics, 0)


def _worth(value: Value | None) -> float:
    return -1.0 if value is None or value.value is None else value.value


@cache
def _systems() -> dict[str, tuple[str, float | None]]:
    """Return licence and millions of parameters of the systems that are known."""
    text = files(__package__).joinpath("systems.yaml").read_text(encoding="utf-8")
    return {
        name: (licence, millions)
        for licence, systems in yaml.safe_load(text).items()
        for name, millions in systems.items()
    }
