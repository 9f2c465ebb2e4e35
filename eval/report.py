"""From verdicts to a report: every judge on every part of the benchmark, beside the baselines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy as np

from moonlynx import __version__
from moonlynx.judge.contract.types import Score, Verdict
from moonlynx.judge.decision.calibration import Calibration
from moonlynx.judge.decision.cost import PriceTable, load_prices, total_usage

from .benchmarks import Benchmark
from .benchmarks.published import published
from .bootstrap import Floats, interval
from .curves import draw_curves
from .intervals import LEVEL
from .metrics import METRICS, estimates, f1, resample
from .outcomes import Gold, Outcomes
from .provenance import File, JudgeRun
from .records import (
    ALWAYS_FAIL,
    MAJORITY,
    BenchmarkFacts,
    Bootstrap,
    Bounds,
    Costs,
    Group,
    JudgeFacts,
    LengthError,
    MacroScores,
    Report,
    SystemScores,
)
from .shortcuts import shortcuts
from .slices import (
    Lengths,
    Slice,
    by_answer_length,
    by_context_length,
    by_generator,
    length_bins,
    measure,
    spearman,
    subsets,
)


class Judged(NamedTuple):
    """A judge's run and its verdicts, one for each row of the benchmark, in order.

    `calibration` is what the judge was calibrated by, where it was; `seconds` what each row took,
    empty where that is not known.
    """

    run: JudgeRun
    verdicts: Sequence[Verdict]
    calibration: Calibration | None = None
    seconds: Sequence[float] = ()


def build_report(
    benchmark: Benchmark,
    judged: Sequence[Judged],
    *,
    command: str,
    today: date,
    git_commit: str | None,
    resamples: int,
    seed: int,
    prices: PriceTable | None = None,
) -> Report:
    """Score judges on a benchmark, beside the majority class, always FAIL and fitted shortcuts.

    Costs are by `prices`, or the package's own table.

    Raises:
        BenchmarkError: the verdicts are not those of the benchmark's rows.
        MissingExtra: scipy is not installed.
    """
    table = load_prices() if prices is None else prices
    gold = Gold(benchmark.rows)
    scorer = _Scorer(
        judges={each.run.spec: gold.outcomes(each.verdicts) for each in judged},
        shortcuts=shortcuts(benchmark.training(), gold),
        constant={"PASS": gold.constant("PASS"), "FAIL": gold.constant("FAIL")},
        gold=gold,
        resamples=resamples,
        seed=seed,
    )
    everything = Slice("all rows", np.arange(len(benchmark.rows)))
    parts = subsets(benchmark.rows)
    lengths = measure(benchmark.rows)
    scored = [scorer.score(part, (1, number)) for number, part in enumerate(parts)]
    micro, _ = scorer.score(everything, (0,))
    return Report(
        package_version=__version__,
        git_commit=git_commit,
        date=today,
        command=command,
        benchmark=_benchmark_facts(benchmark),
        judges=tuple(_judge_facts(each, table) for each in judged),
        bootstrap=Bootstrap(level=LEVEL, resamples=resamples, seed=seed),
        metrics=METRICS,
        micro=micro,
        macro=_macro([values for _, values in scored]) if len(parts) > 1 else (),
        subsets=tuple(group for group, _ in scored) if len(parts) > 1 else (),
        context_length=scorer.score_all(by_context_length(lengths), 2),
        answer_length=scorer.score_all(by_answer_length(lengths), 3),
        generators=scorer.score_all(by_generator(benchmark.rows), 4),
        length_and_error=tuple(
            _length_error(name, outcomes, lengths)
            for name, outcomes in scorer.systems(micro.majority).items()
        ),
        bounds=tuple(_bounds(benchmark, scorer, [everything, *(parts if len(parts) > 1 else ())])),
        curves=tuple(
            curves
            for each in judged
            if (
                curves := draw_curves(each.run.spec, scorer.judges[each.run.spec], each.calibration)
            )
        ),
        published=published(benchmark.about.name),
    )


_Values = dict[str, dict[str, tuple[float, Floats]]]  # by system and metric: estimate and draws


@dataclass(frozen=True)
class _Scorer:
    """Scores every system on parts of the benchmark, all by the same draws of the rows."""

    judges: Mapping[str, Outcomes]
    shortcuts: Mapping[str, Outcomes]
    constant: Mapping[Score, Outcomes]
    gold: Gold
    resamples: int
    seed: int

    def systems(self, majority: Score) -> dict[str, Outcomes]:
        baselines = {MAJORITY: self.constant[majority], ALWAYS_FAIL: self.constant["FAIL"]}
        return {**self.judges, **self.shortcuts, **baselines}

    def score(self, part: Slice, seed: tuple[int, ...]) -> tuple[Group, _Values]:
        majority = self.gold.majority(part.rows)
        systems = {
            name: outcomes.take(part.rows) for name, outcomes in self.systems(majority).items()
        }
        values: _Values = {}
        if len(part.rows):
            # Each part has draws of its own: the subsets' have to be independent of each other.
            draws = resample(list(systems.values()), self.resamples, (self.seed, *seed))
            for (name, outcomes), drawn in zip(systems.items(), draws, strict=True):
                estimated = estimates(outcomes)
                values[name] = {metric: (estimated[metric], drawn[metric]) for metric in METRICS}
        group = Group(
            name=part.name,
            rows=len(part.rows),
            fail_rows=int(self.gold.fail[part.rows].sum()),
            span_rows=int(self.gold.spans_known[part.rows].sum()),
            majority=majority,
            systems=tuple(
                _system_scores(name, systems[name], metrics) for name, metrics in values.items()
            ),
        )
        return group, values

    def score_all(self, parts: Sequence[Slice], seed: int) -> tuple[Group, ...]:
        return tuple(self.score(part, (seed, number))[0] for number, part in enumerate(parts))


def _system_scores(
    name: str, outcomes: Outcomes, metrics: Mapping[str, tuple[float, Floats]]
) -> SystemScores:
    return SystemScores(
        system=name,
        unscored=int((outcomes.said < 0).sum()),
        with_raw_score=int((~np.isnan(outcomes.raw_score)).sum()),
        with_probability=int((~np.isnan(outcomes.probability)).sum()),
        metrics={metric: interval(value, draws) for metric, (value, draws) in metrics.items()},
    )


def _macro(scored: Sequence[_Values]) -> tuple[MacroScores, ...]:
    """Average over subsets; a draw takes one draw of each, so that subsets keep their sizes."""
    result = []
    for system in scored[0]:
        counts, metrics = {}, {}
        for metric in METRICS:
            values = [part[system][metric] for part in scored]
            defined = [(value, draws) for value, draws in values if not np.isnan(value)]
            counts[metric] = len(defined)
            mean, drawn = np.nan, np.empty(0)
            if defined:
                mean = float(np.mean([value for value, _ in defined]))
                drawn = np.mean([draws for _, draws in defined], axis=0)
            metrics[metric] = interval(mean, drawn)
        result.append(MacroScores(system=system, subsets=counts, metrics=metrics))
    return tuple(result)


def _length_error(system: str, outcomes: Outcomes, lengths: Lengths) -> LengthError:
    wrong = outcomes.wrong
    bins = length_bins(lengths.whole, wrong)
    middles = np.array([(each.low + each.high) / 2 for each in bins])
    return LengthError(
        system=system,
        whole=spearman(lengths.whole, wrong),
        answer=spearman(lengths.answer, wrong),
        over_bins=spearman(middles, np.array([each.wrong for each in bins])),
        bins=tuple(bins),
    )


def _bounds(benchmark: Benchmark, scorer: _Scorer, parts: Sequence[Slice]) -> Iterator[Bounds]:
    missing = dict(benchmark.missing_clean)
    if missing:
        missing[parts[0].name] = sum(missing.values())
    for part in parts:
        if part.name not in missing:
            continue
        for system, outcomes in scorer.systems(scorer.gold.majority(part.rows)).items():
            fail, said = outcomes.fail[part.rows], outcomes.said[part.rows] == 1
            caught, alarms = np.array([(fail & said).sum()]), (~fail & said).sum()
            missed = fail.sum() - caught
            # A PASS row judged PASS is in none of F1's counts.
            all_right, all_wrong = (
                float(f1(caught, alarms + more, missed)[0]) for more in (0, missing[part.name])
            )
            yield Bounds(
                system=system,
                group=part.name,
                missing=missing[part.name],
                all_wrong=all_wrong,
                all_right=all_right,
            )


def _benchmark_facts(benchmark: Benchmark) -> BenchmarkFacts:
    return BenchmarkFacts(
        **vars(benchmark.about),
        split=benchmark.split,
        test_only=benchmark.test_only,
        caveats=benchmark.caveats,
        rows=len(benchmark.rows),
        fail_rows=sum(row.label == "FAIL" for row in benchmark.rows),
        sampled_from=benchmark.sampled_from,
        left_out=dict(benchmark.left_out),
        rows_sha256=benchmark.rows_sha256(),
        files=tuple(File(path=path, sha256=sha) for path, sha in benchmark.files.items()),
    )


def _judge_facts(judged: Judged, prices: PriceTable) -> JudgeFacts:
    codes = Counter(verdict.error.code for verdict in judged.verdicts if verdict.error)
    return JudgeFacts(
        **dict(judged.run), unscored=dict(sorted(codes.items())), costs=_costs(judged, prices)
    )


def _costs(judged: Judged, prices: PriceTable) -> Costs:
    costs = [prices.of(verdict) for verdict in judged.verdicts]
    known = [cost for cost in costs if cost is not None]
    timed = len(judged.seconds) == len(judged.verdicts)
    return Costs(
        usage=total_usage(verdict.usage for verdict in judged.verdicts),
        seconds=round(sum(judged.seconds), 3) if timed else None,
        money=sum(known) if len(known) == len(costs) else None,
        currency=prices.currency,
        prices_updated=prices.updated,
    )
