"""Writes what `heads` measured as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moonlynx.eval.markdown import table

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
        figures = _figures(found["figures"], PAPER.get(metric))
        parts.append("\n\n".join([f"### {metric}", rows, figures]))
    return "\n\n".join([*parts, _sources(results)]) + "\n"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return table(header, rows, left=range(len(header)), form="tight")


def _figures(figures: Mapping[str, Any], paper: float | None) -> str:
    rows = [
        [system, *(write_value(found[name]) for name in FIGURES)]
        for system, found in figures.items()
    ]
    if paper is not None:
        rows.append(["paper, 3B decoder, other rows", f"F1 {_short(paper)}", "", "", ""])
    return _table(["", *FIGURES.values()], rows)


def _gains(results: Mapping[str, Any]) -> str:
    rows = (
        [
            metric,
            *(write_value(found["gain"][name]) for name in ("auroc", "f1_macro")),
            "**yes**" if found["ships"] else "no",
        ]
        for metric, found in results.items()
    )
    return _table(["metric", "gain of the head on TF-IDF: AUROC", "F1 macro", "ships"], rows)


def _sources(results: Mapping[str, Any]) -> str:
    rows = (
        [
            metric,
            source,
            str(own["rows"]),
            *(write_value(own[name]["auroc"]) for name in ("head", "TF-IDF")),
        ]
        for metric, found in results.items()
        for source, own in found["by_source"].items()
    )
    header = ["metric", "source", "rows", "head: AUROC", "TF-IDF: AUROC"]
    return f"### By source\n\n{_table(header, rows)}"


def write_value(figure: tuple[float | None, float | None, float | None]) -> str:
    """Return a figure's text with its interval."""
    value, low, high = figure
    if value is None:  # as the AUROC of rows of one class
        return "undefined"
    if low is None or high is None:
        return _short(value)
    return f"{_short(value)} [{_short(low)}, {_short(high)}]"


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)
