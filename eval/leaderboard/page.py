"""Boards as a page: HTML that loads nothing from elsewhere, and Markdown."""

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.resources import files
from math import ceil, floor, log10
from typing import Any, NamedTuple, get_args

from moonlynx import __version__
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.visible import visible

from ..intervals import Value
from ..markdown import UNDEFINED, table
from ..report_pages import TITLES, write_value
from .boards import Board, Entry, Kind

_METRICS = ("auroc", "balanced_accuracy", "f1", "accuracy", "false_alarms")
_COSTS = {
    "seconds": "seconds per 1,000",
    "money": "money per 1,000",
    "millions": "parameters, millions",
}
_SECONDS, _MONEY, _MILLIONS = _COSTS.values()
_HEADER = ["system", "kind", *(TITLES[metric] for metric in _METRICS), _SECONDS, _MONEY]
_HEADER += ["unscored", _MILLIONS, "licence"]
_TITLE = "Leaderboard of hallucination judges"
_HOW_TO_READ = (
    "Percent, with 95 % intervals where the verdicts are here; F1 is of FAIL, and an unscored row "
    "counts as wrong. Published rows are a paper's figures as they are: other rows, prompts and "
    "thresholds. Seconds are those of the machine that judged. Money is the list price of the "
    "models called, and none for what runs on a machine of one's own. Licences are as their "
    "publishers state them."
)


class Cell(NamedTuple):
    """Text of a cell, what its column is sorted by (empty: not known), and its interval."""

    text: str
    value: float | str
    interval: str = ""


def render_markdown(boards: Sequence[Board]) -> str:
    """Return the page as Markdown."""
    parts = [f"# {_TITLE}\n\n{_HOW_TO_READ}"]
    for board in boards:
        rows = (
            [f"{_plain(cell.text)} {cell.interval}".rstrip() for cell in _cells(entry)]
            for entry in board.entries
        )
        parts.append(f"## {_plain(_title(board))}\n\n{_plain(_about(board))}")
        parts.append(table(_HEADER, rows, left=(0, 1, len(_HEADER) - 1)))
        parts += ["\n".join(f"- {_plain(note)}" for note in board.notes)] if board.notes else []
    return "\n\n".join([*parts, _origin()]) + "\n"


def render_html(boards: Sequence[Board]) -> str:
    """Return the page as HTML; its policy lets no script run but its own, and loads nothing.

    Raises:
        MissingExtra: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtra("A leaderboard", "eval") from None
    style, script, template = (
        files(__package__).joinpath(name).read_text(encoding="utf-8")
        for name in ("page.css", "page.js", "page.html")
    )
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(template).render(
        title=_TITLE,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        header=_HEADER,
        kinds=get_args(Kind),
        how_to_read=_HOW_TO_READ,
        boards=[_context(board) for board in boards],
        origin=_origin(),
    )


def _context(board: Board) -> dict[str, Any]:
    return {
        "title": _title(board),
        "about": _about(board),
        "ordered_by": TITLES[board.metric],
        "rows": [{"entry": entry, "cells": _cells(entry)} for entry in board.entries],
        "plots": list(_plots(board)),
        "notes": board.notes,
    }


def _title(board: Board) -> str:
    return f"{board.benchmark.name} ({board.benchmark.split})"


def _about(board: Board) -> str:
    facts = board.benchmark
    return f"{facts.rows:,} rows, {facts.fail_rows:,} FAIL. Gold: {facts.label_rule}."


def _cells(entry: Entry) -> list[Cell]:
    return [
        Cell(visible(entry.name, lines=False), entry.name),
        Cell(entry.kind, entry.kind),
        *(_metric(metric, entry.metrics.get(metric)) for metric in _METRICS),
        _number(entry.seconds),
        _number(entry.money, f" {entry.currency}"),
        _number(entry.unscored),
        _number(entry.millions),
        Cell(entry.licence or UNDEFINED, entry.licence or ""),
    ]


def _metric(metric: str, value: Value | None) -> Cell:
    if value is None or value.value is None:
        return _number(None)
    text, _, interval = write_value(metric, value).partition(" ")
    return Cell(text, value.value, interval)


def _number(value: float | None, unit: str = "") -> Cell:
    if value is None:
        return Cell(UNDEFINED, "")
    return Cell(f"{value:,.0f}{unit}" if value >= 100 else f"{value:.3g}{unit}", value)


def _plots(board: Board) -> Iterator[dict[str, Any]]:
    """Yield quality against each cost that two systems have, its logarithm as a place in [0, 1]."""
    for field, title in _COSTS.items():
        found = [
            (entry, log10(cost), quality)
            for entry in board.entries
            if (cost := getattr(entry, field))
            and (quality := entry.metrics.get(board.metric)) is not None
            and quality.value is not None
        ]
        if len(found) < 2:
            continue
        low = floor(min(cost for _, cost, _ in found))
        high = max(ceil(max(cost for _, cost, _ in found)), low + 1)
        yield {
            "cost": title,
            "quality": TITLES[board.metric],
            "powers": [f"{10.0**power:,.10g}" for power in range(low, high + 1)],
            "dots": [
                {
                    "name": visible(entry.name, lines=False),
                    "kind": entry.kind,
                    "place": (cost - low) / (high - low),
                    "quality": quality,
                }
                for entry, cost, quality in found
            ],
        }


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#&~])", r"\\\1", visible(text, lines=False))


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _origin() -> str:
    return f"Made by moonlynx {__version__} on {date.today().isoformat()}."
