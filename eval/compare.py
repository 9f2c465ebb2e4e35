"""Is one judge better than another? Tests over two verdict files on the same rows.

- McNemar's exact test: of the rows that only one of the two got right, do more belong to one?
- Wilcoxon's signed-rank test: is one nearer the gold, row by row? Error is |probability - gold|
  where both have probabilities. Elsewhere it is taken over the ranks of their raw scores, since
  two judges' raw scores share no scale; it then compares how they rank, not how sure they are.
- Paired bootstrap: the interval of the difference in a metric, both judges on the same draws.

An unscored row counts as wrong throughout; Wilcoxon and AUROC need a number from both judges, and
are over the rows that have it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from moonlynx.judge.contract.types import JudgeInfo, Record, Verdict

from .benchmarks import BenchmarkError, BenchmarkRow
from .bootstrap import Floats, interval
from .intervals import Value
from .markdown import UNDEFINED, table
from .metrics import estimates, resample
from .outcomes import Gold, Outcomes
from .provenance import File
from .report_pages import TITLES
from .slices import scipy_stats

COMPARED = ("accuracy", "balanced_accuracy", "f1", "auroc")


class McNemar(Record):
    """Rows that only one judge got right, and the exact two-sided p-value."""

    only_a: int
    only_b: int
    p: float


class Wilcoxon(Record):
    """Whose error is smaller, row by row: two-sided p-value, null where no row differs.

    `error_of` says what the error was taken from, null where the judges have neither in common;
    `rows` is the number of rows that have it from both judges.
    """

    error_of: Literal["probability", "rank of raw_score"] | None
    rows: int
    a_nearer: int
    b_nearer: int
    p: float | None


class Difference(Record):
    """A metric of both judges, and A minus B with its interval."""

    a: float | None
    b: float | None
    difference: Value


class Comparison(Record):
    """Two judges on the same rows."""

    schema_version: Literal["1.0"] = "1.0"
    a: File
    b: File
    judge_a: JudgeInfo
    judge_b: JudgeInfo
    rows: int
    fail_rows: int
    unscored_a: int
    unscored_b: int
    resamples: int
    seed: int
    mcnemar: McNemar
    wilcoxon: Wilcoxon
    differences: dict[str, Difference]


Judged = tuple[File, Sequence[Verdict]]


def compare(
    rows: Sequence[BenchmarkRow], a: Judged, b: Judged, *, resamples: int, seed: int
) -> Comparison:
    """Compare two judges on the rows that both have judged.

    Raises:
        BenchmarkError: the two files do not hold the same ids, or hold ids the benchmark lacks.
        MissingExtra: scipy is not installed.
    """
    gold = Gold(_judged_rows(rows, a, b))
    by_id = ({verdict.id: verdict for verdict in verdicts} for _, verdicts in (a, b))
    one, other = _share_raw_scores(
        *(gold.outcomes([each[row.id] for row in gold.rows]) for each in by_id)
    )
    drawn = resample([one, other], resamples, (seed,))
    estimated = estimates(one), estimates(other)
    return Comparison(
        a=a[0],
        b=b[0],
        judge_a=a[1][0].judge,
        judge_b=b[1][0].judge,
        rows=len(one),
        fail_rows=int(gold.fail.sum()),
        unscored_a=int((one.said < 0).sum()),
        unscored_b=int((other.said < 0).sum()),
        resamples=resamples,
        seed=seed,
        mcnemar=_mcnemar(one, other),
        wilcoxon=_wilcoxon(one, other),
        differences={
            name: _difference(
                estimated[0][name], estimated[1][name], drawn[0][name] - drawn[1][name]
            )
            for name in COMPARED
        },
    )


def _judged_rows(rows: Sequence[BenchmarkRow], a: Judged, b: Judged) -> list[BenchmarkRow]:
    """Return the rows that were judged; raise for files that do not fit each other or the rows."""
    ids_a, ids_b = _ids(*a), _ids(*b)
    path_a, path_b = a[0].path, b[0].path
    known = {row.id for row in rows}
    _refuse(ids_a - known, f"{path_a} has verdicts on rows that the benchmark lacks")
    _refuse(ids_a - ids_b, f"{path_a} has verdicts on rows that {path_b} lacks")
    _refuse(ids_b - ids_a, f"{path_b} has verdicts on rows that {path_a} lacks")
    if not ids_a:
        raise BenchmarkError("the verdict files are empty")
    return [row for row in rows if row.id in ids_a]


def _ids(file: File, verdicts: Sequence[Verdict]) -> set[str | int | None]:
    ids = {verdict.id for verdict in verdicts}
    if len(ids) != len(verdicts):
        raise BenchmarkError(f"{file.path}: two verdicts have the same id, or none")
    return ids


def _refuse(ids: set[str | int | None], complaint: str) -> None:
    if ids:
        shown = ", ".join(repr(each) for each in sorted(ids, key=str)[:3])
        raise BenchmarkError(f"{complaint}: {len(ids):,} of them, such as {shown}")


def _share_raw_scores(a: Outcomes, b: Outcomes) -> tuple[Outcomes, Outcomes]:
    """Leave raw scores only where both judges have one: AUROCs over other rows do not compare."""
    unknown = np.isnan(a.raw_score) | np.isnan(b.raw_score)
    one, other = (np.where(unknown, np.nan, each.raw_score) for each in (a, b))
    return replace(a, raw_score=one), replace(b, raw_score=other)


def _mcnemar(a: Outcomes, b: Outcomes) -> McNemar:
    only_a, only_b = int((~a.wrong & b.wrong).sum()), int((a.wrong & ~b.wrong).sum())
    p = 1.0
    if only_a + only_b:
        p = float(scipy_stats().binomtest(only_a, only_a + only_b, 0.5).pvalue)
    return McNemar(only_a=only_a, only_b=only_b, p=p)


def _wilcoxon(a: Outcomes, b: Outcomes) -> Wilcoxon:
    probable = ~np.isnan(a.probability) & ~np.isnan(b.probability)
    ranked = ~np.isnan(a.raw_score)
    if probable.any():
        known = probable
        one, other = a.probability[known], b.probability[known]
    elif ranked.any():
        known = ranked
        one, other = _ranks(a.raw_score[known]), _ranks(b.raw_score[known])
    else:
        return Wilcoxon(error_of=None, rows=0, a_nearer=0, b_nearer=0, p=None)
    fail = a.fail[known]
    gain = np.abs(other - fail) - np.abs(one - fail)
    # Ties of ranks leave differences of about 1e-17, which are none.
    gain[np.abs(gain) < 1e-12] = 0.0
    return Wilcoxon(
        error_of="probability" if known is probable else "rank of raw_score",
        rows=int(known.sum()),
        a_nearer=int((gain > 0).sum()),
        b_nearer=int((gain < 0).sum()),
        p=float(scipy_stats().wilcoxon(gain).pvalue) if gain.any() else None,
    )


def _ranks(scores: Floats) -> Floats:
    """Return ranks in (0, 1), the highest score near 1; ties share the mean of their ranks."""
    ranks: Floats = (scipy_stats().rankdata(scores) - 0.5) / len(scores)
    return ranks


def _difference(a: float, b: float, drawn: Floats) -> Difference:
    return Difference(
        a=None if np.isnan(a) else a,
        b=None if np.isnan(b) else b,
        difference=interval(a - b, drawn),
    )


def render(comparison: Comparison) -> str:
    """Return the comparison as Markdown."""
    mcnemar, wilcoxon = comparison.mcnemar, comparison.wilcoxon
    differences = table(
        ["", "A", "B", "A − B", "95 % interval"],
        (
            [
                TITLES[name],
                _points(each.a),
                _points(each.b),
                _points(each.difference.value, "+"),
                f"{_points(each.difference.low, '+')} to {_points(each.difference.high, '+')}",
            ]
            for name, each in comparison.differences.items()
        ),
    )
    error = f"Wilcoxon, error of {wilcoxon.error_of or 'probability or raw_score'}"
    nearer = wilcoxon.a_nearer, wilcoxon.b_nearer, wilcoxon.rows
    only = mcnemar.only_a, mcnemar.only_b, comparison.rows
    tests = table(
        ["test", "A better", "B better", "rows", "p"],
        [["McNemar, exact", *only, _p(mcnemar.p)], [error, *nearer, _p(wilcoxon.p)]],
    )
    return (
        f"- A: {_judge(comparison.judge_a, comparison.a, comparison.unscored_a)}\n"
        f"- B: {_judge(comparison.judge_b, comparison.b, comparison.unscored_b)}\n\n"
        f"{comparison.rows:,} rows, {comparison.fail_rows:,} of them FAIL. In percent; paired "
        f"bootstrap, {comparison.resamples:,} resamples, seed {comparison.seed}.\n\n"
        f"{differences}\n\n{tests}\n"
    )


def _judge(judge: JudgeInfo, file: File, unscored: int) -> str:
    return f"{judge.name} {judge.version}, {file.path} ({unscored:,} unscored)"


def _points(share: float | None, sign: Literal["", "+"] = "") -> str:
    return UNDEFINED if share is None else f"{100 * share:{sign}.1f}"


def _p(p: float | None) -> str:
    if p is None:
        return UNDEFINED
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
