"""Numbers, dates and times of day in a text, as values that can be compared.

`1.2 million` is 1,200,000, `5 km` is 5,000 m, `€5` is `5 euros`, `21st` is `twenty-first`. What can
be read in more than one way has all its readings: `3/4/2020` is in March and in April, `1.200` is
1.2 and 1,200. English number words, dates and units.

quantulum3 does part of this, but gives one reading in floats, and disambiguates by a pickled model.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby, zip_longest
from typing import NamedTuple

from .spelled import SCALES, Spelled, find_clock, find_shares, find_spelled
from .units import BEFORE, UNIT, units

_SCALES = {
    **SCALES,
    "k": 10**3,
    **dict.fromkeys(("millions", "mn", "m"), 10**6),
    **dict.fromkeys(("billions", "bn", "b"), 10**9),
    **dict.fromkeys(("trillions", "tn"), 10**12),
}
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_VULGAR = {
    "½": Fraction(1, 2),
    "⅓": Fraction(1, 3),
    "⅔": Fraction(2, 3),
    "¼": Fraction(1, 4),
    "¾": Fraction(3, 4),
}
# Of so many digits at most: what is longer counts nothing, and takes long to compute with.
_FIGURE = (
    r"\d{1,3}(?:,\d{3}){1,10}(?:\.\d{1,30})?|\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,10}(?!\d)"
    r"|\d{1,30}(?:[.,]\d{1,30})?"
)
_NUMBER = re.compile(
    rf"(?<![\w.,/:#&@])(?<![A-Za-z]-)(?:(?P<before>{BEFORE})\s?)?"
    rf"(?P<figure>{_FIGURE})(?P<ordinal>st|nd|rd|th)?(?![\d/:]|[.,]\d)(?:\s?(?P<vulgar>[½⅓⅔¼¾]))?"
    rf"(?:[\s-]?(?P<scale>{_SCALE})\b)?(?:[\s-]?(?P<unit>{UNIT})(?!\w))?(?!\w)",
    re.IGNORECASE,
)
# Without a unit it may be a date, a score or a share.
_FRACTION = re.compile(
    r"(?<![\w.,/:#&@½⅓⅔¼¾-])(?:(?:(?P<whole>\d{1,3})[\s-])?(?P<top>\d{1,2})[/⁄](?P<bottom>[234568]|16)"
    rf"|(?P<vulgar>[½⅓⅔¼¾]))(?:\s(?:of an?\s)?|-)?(?P<unit>{UNIT})(?!\w)",
    re.IGNORECASE,
)
MONTHS = """january february march april may june july august september october november december
    """.split()  # noqa: SIM905
_MONTH = "|".join(f"{month}|{month[:3]}" for month in MONTHS) + "|sept"
_DATE = re.compile(
    r"\b(?:"
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"|(?P<one>\d{1,2})(?P<mark>[/.])(?P<other>\d{1,2})(?P=mark)(?P<year2>\d{4}|\d{2})"
    rf"|(?P<day3>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<name3>{_MONTH})\.?(?:,?\s(?P<year3>\d{{4}}))?"
    rf"|(?P<name4>{_MONTH})\.?\s(?P<day4>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s(?P<year4>\d{{4}}))?"
    rf"|(?P<name5>{_MONTH})\.?,?\s(?P<year5>\d{{4}})"
    r")\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<![\d./])(?P<hour>[01]?\d|2[0-4])(?::(?P<minute>[0-5]\d))?"
    r"(?:\s?(?P<half>[ap])(?:m\b|\.m\.?)|(?<=:\d\d)(?![:\d]))",
    re.IGNORECASE,
)
_AND = re.compile(r",?\s(?:and\s)?|")  # between the parts of one quantity
_JOINT = re.compile(r"\s?(?:-|–|—|to|and|or|through)\s?$")


class Number(NamedTuple):
    """A reading of a number."""

    written: Fraction  # as written, in the unit it is written in
    value: Fraction  # in the first unit of its dimension
    dimension: str  # "" where there is no unit that is known
    step: Fraction  # the size of its last digit that says something, in the unit it is written in
    size: Fraction = Fraction(1)  # of the unit it is written in


class Day(NamedTuple):
    """A reading of a date; None for what it does not say."""

    year: int | None
    month: int | None
    day: int | None


class Literal(NamedTuple):
    """A number, date or time at [start, end) of a text, with all its readings.

    `minutes` are those since midnight. `scale` is the word behind a number, as in "3 million".
    `to_next` says that a number is the lower end of a range whose upper end comes next.
    """

    start: int
    end: int
    numbers: tuple[Number, ...] = ()
    days: tuple[Day, ...] = ()
    minutes: tuple[int, ...] = ()
    scale: int = 1
    to_next: bool = False
    ordinal: bool = False


def find_literals(text: str) -> list[Literal]:
    """Return the numbers, dates and times of a text, in order; none overlap."""
    found: list[Literal] = []
    taken = bytearray(len(text) + 1)
    worded = (_worded(find(text)) for find in (find_shares, find_spelled))
    for literals in (_fractions(text), _dates(text), _times(text), _figures(text), *worded):
        for literal in literals:
            if not any(taken[literal.start : literal.end]):
                found.append(literal)
                taken[literal.start : literal.end] = b"\1" * (literal.end - literal.start)
    found.sort()
    found = _joined(text, found)
    return [
        one._replace(to_next=_is_range(text, one, other))
        for one, other in zip_longest(found, found[1:])
    ]


def _joined(text: str, literals: list[Literal]) -> list[Literal]:
    """Join what is one quantity in two units, as "2 hours and 18 minutes"."""
    found: list[Literal] = []
    for literal in literals:
        if found and _AND.fullmatch(text[found[-1].end : literal.start]):
            last = found[-1]
            sums = tuple(
                Number(
                    one.value / other.size + other.written,
                    one.value + other.value,
                    one.dimension,
                    other.step,
                    other.size,
                )
                for one in last.numbers
                for other in literal.numbers
                if one.dimension == other.dimension and other.value < one.size > other.size
            )
            if sums:
                found[-1] = Literal(last.start, literal.end, sums)
                continue
        found.append(literal)
    return found


def _is_range(text: str, one: Literal, other: Literal | None) -> bool:
    if other is None or not (one.numbers and other.numbers):
        return False
    between = text[one.end : other.start].lower()
    joint = _JOINT.fullmatch(between)
    if joint is None:
        return False
    before = text[max(0, one.start - 12) : one.start].lower()
    return between.strip() not in ("and", "or") or bool(re.search(r"between\s[$€£]?$", before))


def _figures(text: str) -> Iterator[Literal]:
    for match in _NUMBER.finditer(text):
        scale, unit = match["scale"], match["unit"]
        names = [name for name in (match["before"], unit) if name]
        factor = _SCALES[scale.lower()] if scale else 1
        readings = []
        for figure, step in _read_figure(match["figure"]):
            # "5 m" is five metres and five million, "5 M" five million.
            if scale == "m" and not unit:
                readings += _in_units(figure, step, [scale])
            whole = figure + _VULGAR.get(match["vulgar"], 0)
            readings += _in_units(whole * factor, step * factor, names)
        end = match.end("unit") if unit else match.end("scale") if scale else match.end()
        numbers, ordinal = tuple(dict.fromkeys(readings)), match["ordinal"] is not None
        yield Literal(match.start(), end, numbers, scale=factor, ordinal=ordinal)


def _fractions(text: str) -> Iterator[Literal]:
    """Yield fractions of a unit, such as "1 1/2 cups" or "½ tsp"."""
    for match in _FRACTION.finditer(text):
        if match["vulgar"]:
            figure = _VULGAR[match["vulgar"]]
        else:
            figure = int(match["whole"] or 0) + Fraction(int(match["top"]), int(match["bottom"]))
        step = Fraction(1, figure.denominator)
        yield Literal(match.start(), match.end(), tuple(_in_units(figure, step, [match["unit"]])))


def _in_units(figure: Fraction, step: Fraction, names: list[str]) -> list[Number]:
    found = [unit for name in names for unit in units(name)]
    if not found:
        return [Number(figure, figure, "", step)]
    return [
        Number(figure, (figure - unit.zero) * unit.size, unit.dimension, step, unit.size)
        for unit in found
    ]


def _read_figure(figure: str) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield each reading of digits, with the size of the last significant digit."""
    joined = re.sub(r"[\s\u00a0\u202f]", "", figure)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", joined):
        yield _plain(joined.replace(",", ""))
        # A decimal comma; no one writes three zeros after one.
        if joined.count(",") == 1 and "." not in joined and not joined.endswith(",000"):
            yield _plain(joined.replace(",", "."))
    else:
        yield _plain(joined.replace(",", "."))
        if re.fullmatch(r"\d{1,3}\.\d{3}", joined):
            yield _plain(joined.replace(".", ""))


def _plain(digits: str) -> tuple[Fraction, Fraction]:
    whole, _, decimals = digits.partition(".")
    if decimals:
        return Fraction(digits), Fraction(1, 10 ** len(decimals))
    zeros = len(whole) - len(whole.rstrip("0")) if whole.strip("0") else 0
    return Fraction(whole), Fraction(10**zeros)


def _worded(found: Iterator[Spelled]) -> Iterator[Literal]:
    """Yield literals of numbers in words; those at one place are readings of one."""
    for (start, end), readings in groupby(found, lambda one: (one.start, one.end)):
        same = list(readings)
        numbers = [
            number
            for each in same
            for number in _in_units(each.value, each.step, [each.unit] if each.unit else [])
        ]
        scale, ordinal = same[0].scale, same[0].ordinal
        yield Literal(start, end, tuple(numbers), scale=scale, ordinal=ordinal)


def _dates(text: str) -> Iterator[Literal]:
    for match in _DATE.finditer(text):
        days = tuple(day for day in _read_date(match) if _is_day(day))
        if days:
            yield Literal(match.start(), match.end(), days=days)


def _read_date(match: re.Match[str]) -> Iterator[Day]:
    group = match.groupdict()
    if group["year"]:
        yield Day(int(group["year"]), int(group["month"]), int(group["day"]))
    elif group["year2"]:
        year = int(group["year2"])
        one, other = int(group["one"]), int(group["other"])
        for full in (year,) if year > 99 else (1900 + year, 2000 + year):
            yield Day(full, one, other)
            yield Day(full, other, one)
    else:
        name = next(group[key] for key in ("name3", "name4", "name5") if group[key])
        month = next(i for i, long in enumerate(MONTHS, 1) if long.startswith(name[:3].lower()))
        day = group["day3"] or group["day4"]
        written = group["year3"] or group["year4"] or group["year5"]
        yield Day(int(written) if written else None, month, int(day) if day else None)


def _is_day(day: Day) -> bool:
    return 1 <= (day.month or 1) <= 12 and 1 <= (day.day or 1) <= 31


def _times(text: str) -> Iterator[Literal]:
    for match in _TIME.finditer(text):
        minutes = 60 * int(match["hour"]) + int(match["minute"] or 0)
        half = (match["half"] or "").lower()
        if half:
            minutes = minutes % 720 + (720 if half == "p" else 0)
        # Without a half of the day, "9:30" may mean the evening.
        readings = (minutes,) if half or minutes >= 780 else (minutes, (minutes + 720) % 1440)
        yield Literal(match.start(), match.end(), minutes=readings)
    for clock in find_clock(text):
        yield Literal(clock.start, clock.end, minutes=clock.minutes)
