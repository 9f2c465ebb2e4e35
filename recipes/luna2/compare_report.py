"""What `compare` found: figures of every system, and them as Markdown tables and as curves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from moonlynx.judge.luna2.definition import MetricDefinition
from moonlynx.judge.types import Record

from .data import Splits
from .heads_report import FIGURES, PAPER, write_value
from .measure import Curve, Figures, Gold, System, curve, decide, gains, measure, read_gold

_HEAD = re.compile(r"head, (\d+) rows, seed (\d+)")
TO_BEAT = ("TF-IDF", "prompted, fitted")


class Scores(Record):
    """What a system said.

    Attributes:
        validation, test: P of every class, shape (rows, columns).
        unscaled: of test rows, without the head's temperature and bias.
        thresholds: from which classes are said to hold.
        unscored: test rows that it has nothing to say of; they count as wrong.
        temperature: the head's.
        rows: that it was fitted to.
        seconds: that training took.
    """

    validation: list[list[float]]
    test: list[list[float]]
    unscaled: list[list[float]] | None = None
    thresholds: dict[str, float]
    unscored: list[int] = Field(default_factory=list)
    temperature: float | None = None
    rows: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class Found:
    """Everything that was found of one metric.

    Attributes:
        figures: what goes into `results.json`: `classes` (test rows of each), `removed`
            (near-duplicates), `systems` (figures of each row of the table), `seeds` (of each head
            by itself), `gain` (of the heads on what they are to beat), `calibration`.
        definition, gold, scores: what curves are drawn from.
    """

    figures: dict[str, Any]
    definition: MetricDefinition
    gold: Gold
    scores: Mapping[str, Scores]


def measure_all(definition: MetricDefinition, sides: Splits, scores: Mapping[str, Scores]) -> Found:
    """Measure all systems of one metric; heads of one number of rows by the mean of their seeds."""
    gold = read_gold(sides.test, definition)
    systems = {name: system_of(definition, gold, each, each.test) for name, each in scores.items()}
    sizes = _sizes(scores)
    grouped: dict[str, list[System]] = {}
    for name, system in systems.items():
        row = name if name not in sizes else f"head, {sizes[name]} rows"
        grouped.setdefault(row, []).append(system)
    most = f"head, {max(sizes.values())} rows"
    heads = {name: scores[name] for name, size in sizes.items() if size == max(sizes.values())}
    counts = zip(definition.classes, gold.flags.sum(0), strict=True)
    return Found(
        {
            "tested": len(gold.flags),
            "validated": len(sides.validation),
            "classes": {name: int(count) for name, count in counts},
            "removed": sides.removed,
            "unscored": {name: len(each.unscored) for name, each in scores.items()},
            "systems": {name: measure(gold, *each) for name, each in grouped.items()},
            "seeds": {name: measure(gold, systems[name]) for name in sizes},
            "seconds": {name: scores[name].seconds for name in sizes},
            "gain": {name: gains(gold, grouped[most], systems[name]) for name in TO_BEAT},
            "calibration": _calibration(definition, gold, heads),
        },
        definition,
        gold,
        scores,
    )


def system_of(
    definition: MetricDefinition, gold: Gold, scores: Scores, rows: Sequence[Sequence[float]]
) -> System:
    """Give P of every class as `rows` have it, and what the system says by its thresholds."""
    chances = np.array(rows)
    said = decide(definition, chances, scores.thresholds)
    said[scores.unscored] = ~gold.flags[scores.unscored]
    return chances, said


def _calibration(
    definition: MetricDefinition, gold: Gold, heads: Mapping[str, Scores]
) -> dict[str, Any]:
    """Give the calibration error before and after temperature and bias, and the temperatures."""
    after = [system_of(definition, gold, each, each.test) for each in heads.values()]
    before = [system_of(definition, gold, each, each.unscaled or []) for each in heads.values()]
    return {
        "before": measure(gold, *before)["ece"],
        "after": measure(gold, *after)["ece"],
        "temperatures": [each.temperature for each in heads.values()],
    }


def curves(found: Found) -> dict[str, Curve]:
    """Give the ROC curve of each system, of heads that of the first seed on the most rows."""
    sizes = _sizes(found.scores)
    best = next(name for name, size in sizes.items() if size == max(sizes.values()))
    names = [name for name in found.scores if name not in sizes and name != "prompted"]
    return {
        name: curve(found.definition, found.gold, np.array(found.scores[name].test))
        for name in (*names, best)
    }


def _sizes(names: Iterable[str]) -> dict[str, int]:
    """Give the training rows of the heads among the systems."""
    return {name: int(match[1]) for name in names if (match := _HEAD.fullmatch(name))}


def render(found: Mapping[str, Found]) -> str:
    """Give the tables of all metrics."""
    sections = [_summary(found), _calibrations(found)]
    for metric, each in found.items():
        facts = each.figures
        classes = ", ".join(f"{name} {count}" for name, count in facts["classes"].items())
        unscored = sum(facts["unscored"].values())
        rows = (
            f"{facts['tested']} test rows ({classes}); {facts['validated']} validation rows; "
            f"{facts['removed']} near-duplicates were removed; {unscored} rows unscored."
        )
        sections.append(f"### {metric}\n\n{rows}\n\n{_systems(metric, facts)}")
    return "\n\n".join(sections) + "\n"


def _summary(found: Mapping[str, Found]) -> str:
    lines = [
        "| metric | gain of the heads on TF-IDF: AUROC | F1 macro | on the prompted backbone, "
        "fitted: AUROC | F1 macro |",
        "|---|---|---|---|---|",
    ]
    for metric, each in found.items():
        gain: Mapping[str, Figures] = each.figures["gain"]
        cells = (write_value(gain[name][f]) for name in TO_BEAT for f in ("auroc", "f1_macro"))
        lines.append(f"| {metric} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _calibrations(found: Mapping[str, Found]) -> str:
    lines = ["| metric | ECE before | after | temperatures |", "|---|---|---|---|"]
    for metric, each in found.items():
        facts = each.figures["calibration"]
        temperatures = ", ".join(f"{value:.2f}" for value in facts["temperatures"])
        both = f"{write_value(facts['before'])} | {write_value(facts['after'])}"
        lines.append(f"| {metric} | {both} | {temperatures} |")
    return "\n".join(lines)


def _systems(metric: str, facts: Mapping[str, Any]) -> str:
    lines = [f"| | {' | '.join(FIGURES.values())} |", "|---|" + "---|" * len(FIGURES)]
    for system, figures in facts["systems"].items():
        lines.append(f"| {system} | {' | '.join(_cells(figures))} |")
        mine = [each for name, each in facts["seeds"].items() if name.startswith(f"{system}, ")]
        if len(mine) > 1:
            lines.append(f"| least and most of {len(mine)} seeds | {' | '.join(_spread(mine))} |")
    if metric in PAPER:
        lines.append(f"| paper, 3B decoder, other rows | F1 {PAPER[metric]:.2f} | | | |")
    return "\n".join(lines)


def _cells(figures: Mapping[str, Any]) -> Iterable[str]:
    return (write_value(figures[name]) for name in FIGURES)


def _spread(seeds: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    for name in FIGURES:
        values = [each[name][0] for each in seeds]
        yield f"{min(values):.3f}, {max(values):.3f}".replace("0.", ".")
