"""Units: another unit of the same dimension behind a number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from .source import Source
from .types import Draft, Edit
from .words import WORDS

_DIMENSIONS: Sequence[Sequence[str]] = WORDS["dimensions"]
_SINGULAR_ONLY = frozenset({"thousand", "million", "billion", "trillion", "Fahrenheit", "Celsius"})
_UNITS_OF = {unit: dimension for dimension in reversed(_DIMENSIONS) for unit in dimension}
_PLURALS = {"inch": "inches", "foot": "feet"}


def _plural(unit: str) -> str:
    return unit if len(unit) <= 2 or unit in _SINGULAR_ONLY else _PLURALS.get(unit, f"{unit}s")


_FORMS = {form: unit for unit in _UNITS_OF for form in (_plural(unit), unit)}
_MEASURE = re.compile(
    r"(?:\d|\b(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|few|several|many|degrees))"
    rf"[\s-]?(?:degrees\s)?(?P<unit>{'|'.join(sorted(_FORMS, key=len, reverse=True))})\b(?!-?\w)"
    r"(?<!\ba second)(?<!\bA second)"  # an ordinal
    r"(?!(?<=m) people)"  # millions
)


_SUSPENDED = re.compile(r"\d-\s?(?:,|and|or|to)\s\d+-$")  # 5- and 10-year
_UNIT_BEHIND = re.compile(rf"[\s-]?(?P<unit>{'|'.join(sorted(_FORMS, key=len, reverse=True))})\b")


def unit_behind(text: str, end: int) -> str:
    """Return the unit of measure after a number's end, in the singular; "" where there is none."""
    match = _UNIT_BEHIND.match(text, end)
    return _FORMS[match["unit"]] if match else ""


def units(text: str, source: Source, rng: Random) -> Iterator[Draft]:  # noqa: ARG001
    """Yield drafts with another unit of the same dimension behind a number."""
    for match in _MEASURE.finditer(text):
        form = match["unit"]
        if _SUSPENDED.search(text[max(0, match.start("unit") - 20) : match.start("unit")]):
            continue
        unit = _FORMS[form]
        dimension = _UNITS_OF[unit]
        place = dimension.index(unit)
        near = [other for other in dimension[max(0, place - 1) : place + 2] if other != unit]
        new = rng.choice(near)
        yield Draft("unit", (Edit(*match.span("unit"), _plural(new) if form != unit else new),))
