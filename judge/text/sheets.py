"""Sheets of features in plain text: lines such as `Pool: yes`, some of them flags."""

import re
from collections.abc import Iterator, Sequence

from .absence import Line, telling_stems
from .members import flag, say_absent

_LEAST = 3  # lines of a sheet
_WORDS = 6  # in a name at most
_PAIR = re.compile(
    r"[^\S\n]*(?:[-*•+]\s+|\d+[.)]\s+)?(?:\*\*)?(?P<name>[^\W_][^:\n?*|]{0,60}?)(?:\*\*)?\s?:"
    r"(?:\*\*)?[^\S\n]+(?P<value>\S.*)"
)


def sheet_flags(text: str) -> Iterator[Line]:
    """Yield the lines of the text's sheets that are flags: what there is, and what there is not.

    A sheet has three lines or more, each with a name of its own: in a conversation the speakers'
    come again.
    """
    run: list[re.Match[str]] = []
    for line in [*re.finditer(r".+", text), None]:
        pair = line and _PAIR.fullmatch(text, *line.span())
        if pair and len(pair["name"].split()) <= _WORDS:
            run.append(pair)
            continue
        names = [one["name"].strip() for one in run]
        if len(run) >= _LEAST and len(set(names)) == len(names):
            yield from _flags(run, names)
        run = []


def _flags(sheet: Sequence[re.Match[str]], names: Sequence[str]) -> Iterator[Line]:
    for pair, name, stems in zip(sheet, names, telling_stems(names), strict=True):
        there = flag(name, pair["value"].strip().rstrip("."))
        if there is not None:
            text = name if there else say_absent(name)
            yield Line(*pair.span(), f"{text}.", frozenset() if there else stems)
