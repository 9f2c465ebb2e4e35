"""Decades and centuries: "in the late 1990s" is "in 1998". English."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .quantities import find_literals

_DECADES = ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties")
_TENS = {name: 10 * (place + 2) for place, name in enumerate((*_DECADES, "nineties"))}
_PART = r"(?:the\s)?(?:(?P<part>early|mid|middle|late)[\s-](?:of\sthe\s)?)?"
_DECADE = re.compile(
    rf"\b{_PART}(?:(?P<year>1\d\d0|20\d0|[’']\d0)[’']?s|(?P<name>{'|'.join(_TENS)}))\b", re.I
)
_CENTURY = re.compile(
    rf"\b{_PART}(?P<number>\d{{1,2}}(?:st|nd|rd|th)|[a-z]+(?:-[a-z]+)?)[\s-]century\b", re.I
)
# Of a decade or a century: the tenths that its parts are taken to be, with room on either side.
_PARTS = {"early": (0, 5), "mid": (3, 7), "middle": (3, 7), "late": (5, 10)}


class Period(NamedTuple):
    """A decade or a century at [start, end) of a text, and its years."""

    start: int
    end: int
    years: tuple[range, ...]


def find_periods(text: str) -> Iterator[Period]:
    """Yield the decades and centuries that a text names; of "the nineties" any century's."""
    for match in _DECADE.finditer(text):
        if match["name"]:
            firsts = [century + _TENS[match["name"].lower()] for century in range(1000, 2100, 100)]
        elif len(match["year"]) == len("’90"):
            firsts = [century + int(match["year"][1:]) for century in range(1000, 2100, 100)]
        else:
            firsts = [int(match["year"])]
        long = [100 if first % 100 == 0 else 10 for first in firsts]  # "the 1800s"
        years = (_years(*each, match["part"]) for each in zip(firsts, long, strict=True))
        yield Period(*match.span(), tuple(years))
    for match in _CENTURY.finditer(text):
        for ordinal in find_literals(match["number"])[:1]:
            if ordinal.ordinal:
                first = 100 * int(ordinal.numbers[0].value) - 100
                yield Period(*match.span(), (_years(first, 100, match["part"]),))


def _years(first: int, length: int, part: str | None) -> range:
    start, end = _PARTS[part.lower()] if part else (0, 10)
    return range(first + start * length // 10, first + end * length // 10 + length // 100)
