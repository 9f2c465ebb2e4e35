"""Writes what `heads` measured as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PAPER = {
    "prompt_injection": 0.94,
    "context_adherence": 0.95,
    "tool_selection_quality": 0.94,
    "tone": 0.92,
    "pii": 0.89,
}
"""F1 of a 3B decoder on other rows, by Goel et al. (2025), Table 2."""

FIGURES = {
    "f1_macro": "F1 macro",
    "f1_rare": "F1 of the rare class",
    "auroc": "AUROC",
    "ece": "ECE",
}


def render(results: Mapping[str, Any]) -> str:
    """Return a table of every metric, one of what ships, and one of the sources that have both."""
    parts = [_gains(results)]
    for metric, found in results.items():
        classes = ", ".join(f"{name} {count}" for name, count in found["classes"].items())
        rows = (
            f"{found['rows']} test rows ({classes}). All are fitted to {found['fitted']} rows; "
            f"{found['removed']} near-duplicates were removed."
        )
        tables = [_figures(found["figures"], PAPER.get(metric))]
        if found["fewer"]:
            most = {found["fitted"]: {name: found["figures"][name] for name in ("head", "TF-IDF")}}
            tables.append(_learning_curve({**found["fewer"], **most}))
        parts.append("\n\n".join([f"### {metric}", rows, *tables]))
    return "\n\n".join([*parts, _sources(results)]) + "\n"


def _figures(figures: Mapping[str, Any], paper: float | None) -> str:
    lines = [f"| | {' | '.join(FIGURES.values())} |", "|---|" + "---|" * len(FIGURES)]
    lines += [
        f"| {system} | {' | '.join(write_value(found[name]) for name in FIGURES)} |"
        for system, found in figures.items()
    ]
    if paper is not None:
        lines.append(f"| paper, 3B decoder, other rows | F1 {_short(paper)} | | | |")
    return "\n".join(lines)


def _learning_curve(sizes: Mapping[int, Any]) -> str:
    columns = [(system, name) for system in ("head", "TF-IDF") for name in ("auroc", "f1_macro")]
    named = " | ".join(f"{system}: {FIGURES[name]}" for system, name in columns)
    lines = [f"| fitted to | {named} |", "|---|" + "---|" * len(columns)]
    lines += [
        f"| {size} rows | {' | '.join(write_value(found[s][name]) for s, name in columns)} |"
        for size, found in sizes.items()
    ]
    return "\n".join(lines)


def _gains(results: Mapping[str, Any]) -> str:
    lines = [
        "| metric | gain of the head on TF-IDF: AUROC | F1 macro | ships |",
        "|---|---|---|---|",
    ]
    for metric, found in results.items():
        gain = found["gain"]
        ships = "**yes**" if found["ships"] else "no"
        auroc, f1 = (write_value(gain[name]) for name in ("auroc", "f1_macro"))
        lines.append(f"| {metric} | {auroc} | {f1} | {ships} |")
    return "\n".join(lines)


def _sources(results: Mapping[str, Any]) -> str:
    lines = [
        "### By source",
        "",
        "| metric | source | rows | head: AUROC | TF-IDF: AUROC |",
        "|---|---|---|---|---|",
    ]
    for metric, found in results.items():
        for source, own in found["by_source"].items():
            cells = (write_value(own[name]["auroc"]) for name in ("head", "TF-IDF"))
            lines.append(f"| {metric} | {source} | {own['rows']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write_value(figure: tuple[float | None, float, float]) -> str:
    """Return a figure's text with its interval."""
    value, low, high = figure
    if value is None:  # of rows of one class there is no AUROC
        return "one class"
    return f"{_short(value)} [{_short(low)}, {_short(high)}]"


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)
