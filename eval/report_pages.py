"""`report.md`: the report as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from string import Template

import yaml

from moonlynx.judge.decision.conformal import CONFIDENCE

from .benchmarks.published import Published
from .curves import CoverageRisk
from .figures import COVERAGE_RISK, RELIABILITY
from .intervals import Value
from .markdown import UNDEFINED, table
from .metrics import FIXED_RECALL, METRICS, SHARES
from .records import (
    ALWAYS_FAIL,
    BASELINES,
    MAJORITY,
    TFIDF,
    WRITER,
    Group,
    MacroScores,
    Report,
    SystemScores,
)
from .slices import Correlation

_DECISION = ("accuracy", "balanced_accuracy", "precision", "recall", "f1")
_RANKING = ("auroc", "average_precision", "false_alarms")
_PLACES = ("sentence_f1", "span_f1")
_CALIBRATION = ("ece", "brier")
_GRADED = (*SHARES, "contradicted")  # where a judge gives them
_TEXTS = yaml.safe_load(files(__package__).joinpath("report.yaml").read_text(encoding="utf-8"))
TITLES = {name: name.replace("_", " ") for name in METRICS} | {
    "f1": "F1",
    "auroc": "AUROC",
    "false_alarms": f"false alarms at recall {FIXED_RECALL} %",
    "sentence_f1": "sentence F1",
    "span_f1": "span F1",
    "ece": "ECE",
    "brier": "Brier",
}


def render(report: Report) -> str:
    """Return the whole report as Markdown."""
    sections = [
        f"# {report.benchmark.name} ({report.benchmark.split})",
        summary(report),
        _by_part("Subsets", "subset", report.subsets, _DECISION),
        *map(partial(_published, report), report.published),
        _by_part("Length of the context (as Luna, table 4)", "context", report.context_length),
        _by_part("Length of the answer", "answer", report.answer_length),
        _by_part("Model that wrote the answer", "model", report.generators),
        _length_and_error(report),
        _bounds(report),
        _curves(report),
        _costs(report),
        _how_to_read(report),
        _origin(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def summary(report: Report) -> str:
    """Return what was judged and what every judge scored over all rows."""
    facts = report.benchmark
    total = facts.sampled_from
    sampled = f"A random sample of the split's {total:,} rows. " if total else ""
    parts = [
        f"{facts.rows:,} rows: {facts.rows - facts.fail_rows:,} PASS, {facts.fail_rows:,} FAIL. "
        f"{sampled}Gold: {facts.label_rule}."
        + (" Test only: never train on these rows." if facts.test_only else "")
    ]
    left_out = [f"Left out: {count:,} {reason}." for reason, count in facts.left_out.items()]
    if notes := [*facts.caveats, *left_out]:
        parts.append("\n".join(f"- {note}" for note in notes))
    parts += ["## All rows (micro)", _micro(report.micro)]
    if report.macro:
        parts += [f"## Mean of the {len(report.subsets)} subsets (macro)", _macro(report)]
    return "\n\n".join(parts)


def _label(system: str, majority: str) -> str:
    """Return the name of a table's row; of the majority class with its label there."""
    if system == MAJORITY:
        return f"{system} ({majority})"
    return system if system in BASELINES else f"`{system}`"


def _micro(group: Group) -> str:
    counted = (
        (_DECISION, {"unscored": "unscored"}),
        (
            _other_names(group),
            {"raw scores": "with_raw_score", "probabilities": "with_probability"},
        ),
    )
    return "\n\n".join(
        table(
            ["", *_titles(names), *counts],
            (
                [
                    _label(each.system, group.majority),
                    *_cells(each, names),
                    *(getattr(each, field) for field in counts.values()),
                ]
                for each in group.systems
            ),
        )
        for names, counts in counted
    )


def _macro(report: Report) -> str:
    """Return the macro tables; a metric undefined in some subsets shows how many it averages."""
    total = len(report.subsets)

    def cell(scores: MacroScores, name: str) -> str:
        count = scores.subsets[name]
        note = f" ({count} of {total})" if 0 < count < total else ""
        return write_value(name, scores.metrics[name]) + note

    return "\n\n".join(
        table(
            ["", *_titles(names)],
            (
                [_label(each.system, "of each subset"), *(cell(each, name) for name in names)]
                for each in report.macro
            ),
        )
        for names in (_DECISION, _other_names(report.micro))
    )


def _other_names(group: Group) -> tuple[str, ...]:
    """Return the metrics beside the decision, except those that rows or judges cannot have."""
    places = _PLACES if group.span_rows else ()
    calibrated = any(each.with_probability for each in group.systems)
    given = [each.metrics for each in group.systems]
    graded = [name for name in _GRADED if any(one[name].value is not None for one in given)]
    return (*_RANKING, *places, *graded, *(_CALIBRATION if calibrated else ()))


def _titles(names: Sequence[str]) -> list[str]:
    return [TITLES[name] for name in names]


def _cells(scores: SystemScores, names: Sequence[str]) -> list[str]:
    return [write_value(name, scores.metrics[name]) for name in names]


def write_value(name: str, value: Value) -> str:
    """Return a metric's text with its interval: a share in percent, an error as it is."""
    if value.value is None:
        return UNDEFINED
    scale, digits = (1, 3) if name in _CALIBRATION else (100, 1)
    text = f"{scale * value.value:.{digits}f}"
    if value.low is None or value.high is None:
        return text
    return f"{text} [{scale * value.low:.{digits}f}, {scale * value.high:.{digits}f}]"


def _by_part(
    title: str,
    column: str,
    groups: Sequence[Group],
    decision: Sequence[str] = ("accuracy", "balanced_accuracy", "f1"),
) -> str:
    if not groups:
        return ""
    names = [*decision, "auroc"]
    if any(group.span_rows for group in groups):
        names.append("span_f1")
    rows: list[list[object]] = []
    for group in groups:
        about: list[object] = [group.name, group.rows, group.fail_rows]
        if not group.systems:
            rows.append([*about, *[UNDEFINED] * (len(names) + 2)])
        for each in group.systems:
            cells = _cells(each, names)
            if each.with_raw_score < group.rows and each.metrics["auroc"].value is not None:
                cells[names.index("auroc")] += f" (n = {each.with_raw_score:,})"
            rows.append([*about, _label(each.system, group.majority), each.unscored, *cells])
            about = [""] * 3
    header = [column, "rows", "FAIL", "judge", "unscored", *_titles(names)]
    return f"## {title}\n\n{table(header, rows, left=(0, 3))}"


def _published(report: Report, numbers: Published) -> str:
    """Return a paper's table beside what was measured; a subset without rows here stays open."""
    parts = {group.name: group for group in report.subsets}
    groups = [parts.get(name) for name in numbers.subsets] + [report.micro]
    measured: dict[str, list[str]] = {}
    for column, group in enumerate(groups):
        for each in group.systems if group else ():
            cells = measured.setdefault(each.system, [UNDEFINED] * len(groups))
            (cells[column],) = _cells(each, [numbers.metric])
    rows = [
        [f"*{name}*", *(f"{value:.1f}" for value in values)]
        for name, values in numbers.systems.items()
    ]
    rows += [[_label(name, report.micro.majority), *cells] for name, cells in measured.items()]
    header = [f"{TITLES[numbers.metric]}, percent", *numbers.subsets, "all"]
    return (
        f"## Beside published numbers\n\n{numbers.source}. {numbers.note} Published rows are in "
        f"italics; the others were measured here.\n\n{table(header, rows)}"
    )


def _length_and_error(report: Report) -> str:
    measured = report.length_and_error
    labels = [_label(each.system, report.micro.majority) for each in measured]
    correlations = table(
        ["", "question, context and answer", "the same, over the bins", "answer alone"],
        (
            [label, *map(_correlation, (each.whole, each.over_bins, each.answer))]
            for label, each in zip(labels, measured, strict=True)
        ),
    )
    bins = table(
        ["tokens", "rows", *labels],
        (
            [
                f"{part.low:,} to {part.high:,}",
                part.rows,
                *(f"{100 * each.bins[number].wrong:.1f}" for each in measured),
            ]
            for number, part in enumerate(measured[0].bins)
        ),
    )
    return _fill("length and error", correlations=correlations, bins=bins)


def _correlation(correlation: Correlation) -> str:
    if correlation.rho is None or correlation.p is None:
        return UNDEFINED
    p = "p < 0.001" if correlation.p < 0.001 else f"p = {correlation.p:.3f}"
    return f"{correlation.rho:+.2f} ({p})"


def _bounds(report: Report) -> str:
    if not report.bounds:
        return ""
    majority = {group.name: group.majority for group in (report.micro, *report.subsets)}
    rows = (
        [
            each.group,
            _label(each.system, majority[each.group]),
            each.missing,
            *(f"{100 * share:.1f}" for share in (each.all_wrong, each.all_right)),
        ]
        for each in report.bounds
    )
    header = ["", "judge", "missing PASS rows", "all judged wrong", "all judged right"]
    return _fill("bounds", bounds=table(header, rows, left=(0, 1)))


def _curves(report: Report) -> str:
    if not report.curves:
        return ""
    rows = []
    for curves in report.curves:
        rows.append([f"`{curves.system}`", "no share: its own PASS", *_passed(curves.decided)])
        for point in curves.certified:
            unsure = " (the calibration cannot vouch for it)" * (point.passed_up_to is None)
            rows.append(["", f"{100 * point.asked:g}{unsure}", *_passed(point.found)])
    header = ["judge", "at most", "passed", "hallucinated among them"]
    figures = {"reliability": RELIABILITY, "coverage_risk": COVERAGE_RISK}
    points = table(header, rows, left=(0, 1))
    return _fill("curves", **figures, confidence=f"{CONFIDENCE:.0%}", points=points)


def _fill(section: str, **values: object) -> str:
    return Template(_TEXTS[section].rstrip("\n")).substitute(values)


def _passed(point: CoverageRisk | None) -> list[str]:
    if point is None:
        return [UNDEFINED, UNDEFINED]
    return [f"{100 * point.coverage:.1f}", f"{100 * point.risk:.1f}"]


def _costs(report: Report) -> str:
    rows = (
        [
            f"`{judge.spec}`",
            costs.usage.calls,
            costs.usage.input_tokens,
            costs.usage.output_tokens,
            costs.usage.windows,
            UNDEFINED if costs.seconds is None else f"{costs.seconds:,.1f}",
            UNDEFINED if costs.money is None else f"{costs.money:,.4f}",
        ]
        for judge in report.judges
        for costs in [judge.costs]
    )
    prices = report.judges[0].costs
    header = ["judge", "calls", "tokens in", "tokens out", "windows", "seconds", prices.currency]
    updated = prices.prices_updated.isoformat()
    return _fill("costs", updated=updated, undefined=UNDEFINED, costs=table(header, rows))


def _how_to_read(report: Report) -> str:
    bootstrap = report.bootstrap
    definitions = "\n".join(
        f"- **{TITLES[name]}**: {text}" for name, text in report.metrics.items()
    )
    return _fill(
        "how to read",
        level=f"{bootstrap.level:.0%}",
        method=bootstrap.method,
        resamples=f"{bootstrap.resamples:,}",
        seed=bootstrap.seed,
        undefined=UNDEFINED,
        majority=MAJORITY,
        always_fail=ALWAYS_FAIL,
        tfidf=TFIDF,
        writer=WRITER,
        definitions=definitions,
    )


def _origin(report: Report) -> str:
    facts = report.benchmark
    judges = table(
        ["judge", "name and version", "threshold", "calibration", "unscored", "verdicts"],
        (
            [
                f"`{judge.spec}`",
                f"{judge.judge.name} {judge.judge.version}",
                judge.threshold,
                judge.calibration or "none",
                ", ".join(f"{code} {count:,}" for code, count in judge.unscored.items()) or "none",
                judge.verdicts,
            ]
            for judge in report.judges
        ),
        left=range(6),
    )
    lines = [
        report.describe(),
        f"- Benchmark: {facts.source}; licence: {facts.licence}",
        *(f"- File: {file}" for file in facts.files),
        f"- Rows judged: sha256 `{facts.rows_sha256}`",
    ]
    return f"## Where this comes from\n\n{judges}\n\n" + "\n".join(lines)
