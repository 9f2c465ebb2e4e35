"""Dates: another year, month, weekday, day or time of day."""

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple

from .figures import in_order, ordinal
from .source import MONTHS, WEEKDAYS, Source
from .types import Draft, Edit

_SHORT_MONTHS = tuple(month[:3] for month in MONTHS)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTH = "|".join((*MONTHS, "Sept", *_SHORT_MONTHS))
_DAY = r"(?:[12]\d|3[01]|0?[1-9])"
_YEAR = r"(?:1[5-9]\d\d|20\d\d)"
_LEAD = (
    r"in|since|until|till|by|from|during|between|after|before|year|fiscal|fy|circa|early|late|mid"
    r"|spring|summer|fall|autumn|winter|around|ended|ending|january|february|march|april|may|june"
    r"|july|august|september|october|november|december"
)
_YEARS = re.compile(
    rf"(?:(?<![\w.,$€£-])|(?<=mid-)|(?<=\d{{4}}[-–]))(?P<year>{_YEAR})(?P<decade>s)?(?![\w%/:]|[.,]\d|-\w)"
)
_YEAR_LEAD = re.compile(
    rf"(?:\b(?:{_LEAD})\.?,?\s+(?:the\s+)?|\bmid-|\(|\b{_DAY}(?:st|nd|rd|th)?,\s+"
    rf"|\b{_YEAR}\s?(?:-|–|,|to|and|or)\s?(?:and\s)?|^)$",
    re.IGNORECASE,
)
_CITED = re.compile(r"\bet al\.?,?\s?\(?$|\b[A-Z][a-z]+\s\($")
_COUNTED = re.compile(r"\s+(?:(?!was|is|has|ends|saw|census)[a-z]+s|people|percent|million)\b")
_MONTHS = re.compile(rf"\b(?P<month>{_MONTH})\b\.?")
_MONTH_LEAD = re.compile(
    r"(?:\b(?:in|of|on|since|until|till|by|from|during|last|next|early|late|mid|this|and|to|between"
    rf"|through|before|after|every|each|around)\s+|{_DAY}(?:st|nd|rd|th)?\s+(?:of\s+)?)$",
    re.IGNORECASE,
)
_DAY_AFTER = re.compile(rf"\.?\s+(?P<day>{_DAY})(?P<suffix>st|nd|rd|th)?(?![\w%:]|[.,]\d)")
_DAY_BEFORE = re.compile(rf"(?<![\w$.,:-])(?P<day>{_DAY})(?P<suffix>st|nd|rd|th)?\s+(?:of\s+)?$")
_WEEKDAYS = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})(?=s?\b)")
_ISO = re.compile(rf"(?<![\d-]){_YEAR}-(?P<month>0[1-9]|1[0-2])-(?P<day>[0-2]\d|3[01])(?![\d-])")
_TIME = re.compile(
    r"(?<![\w.:$])(?P<hour>1[0-2]|[1-9])(?P<minutes>:[0-5]\d)?\s?(?P<half>[AaPp]\.?[Mm]\b\.?)"
)
_NEAREST_YEARS = 25
_LAST_YEAR = 2026
_HOURS = tuple(str(hour) for hour in range(1, 13))
_DAYS = tuple(str(day) for day in range(1, 29))


class Part(NamedTuple):
    """A part of a date: its range, what it is, and the day of the month beside a month (else 0)."""

    start: int
    end: int
    text: str
    type: Literal["year", "decade", "month", "day", "weekday", "hour", "iso month", "iso day"]
    day: int = 0


def date_parts(text: str) -> Iterator[Part]:
    """Find everything in the text that is read as part of a date or time of day."""
    for match in _YEARS.finditer(text):
        if match["decade"]:
            yield Part(*match.span("year"), match["year"], "decade")
        elif _is_year(text, match):
            yield Part(*match.span("year"), match["year"], "year")
    yield from _month_and_day_parts(text)
    for match in _WEEKDAYS.finditer(text):
        yield Part(*match.span(), match.group(), "weekday")
    for match in _ISO.finditer(text):
        yield Part(*match.span("month"), match["month"], "iso month", int(match["day"]))
        yield Part(*match.span("day"), match["day"], "iso day")
    for match in _TIME.finditer(text):
        yield Part(*match.span("hour"), match["hour"], "hour")


def dates(text: str, source: Source, rng: Random) -> Iterator[Draft]:
    """Yield drafts that replace a date by another, part by part."""
    stated = [int(figure) for figure, _ in source.figures if re.fullmatch(_YEAR, figure)]
    for part in date_parts(text):
        new = _other(text, part, stated, rng)
        if new is not None:
            yield Draft("date", (Edit(part.start, part.end, new),))


def _is_year(text: str, match: re.Match[str]) -> bool:
    """Return whether a number is a year rather than a count, by the words around it."""
    before = text[max(0, match.start() - 24) : match.start()]
    led = _YEAR_LEAD.search(before) and not _CITED.search(before)
    return bool(led) and not _COUNTED.match(text, match.end())


def _month_and_day_parts(text: str) -> Iterator[Part]:
    for match in _MONTHS.finditer(text):
        after = _DAY_AFTER.match(text, match.end("month"))
        shift = max(0, match.start() - 16)
        behind = text[shift : match.start()]
        before = _DAY_BEFORE.search(behind)
        year = re.match(rf",?\s+{_YEAR}\b", text[match.end() :])
        if not (after or before or year or _MONTH_LEAD.search(behind)):
            continue
        day = after or before
        number = int(day["day"]) if day else 0
        yield Part(*match.span("month"), match["month"], "month", number)
        if day:
            start = day.start("day") + (0 if after else shift)
            written = day["day"] + (day["suffix"] or "")
            yield Part(start, start + len(written), written, "day")


def _other(text: str, part: Part, stated: Sequence[int], rng: Random) -> str | None:
    """Return another part of the same form; None where the draw is not a possible date."""
    if part.type in ("year", "decade"):
        return _other_year(text, part, stated, rng)
    choices: Sequence[str]
    if part.type == "month":
        names = MONTHS if part.text in MONTHS else _SHORT_MONTHS
        choices = [name for name, days in zip(names, _MONTH_DAYS, strict=True) if part.day <= days]
    elif part.type == "day":
        choices = _DAYS if part.text.isdigit() else [ordinal(int(day)) for day in _DAYS]
    elif part.type == "iso month":
        choices = [f"{i + 1:02}" for i, days in enumerate(_MONTH_DAYS) if part.day <= days]
    else:
        iso_days = [day.zfill(2) for day in _DAYS]
        choices = {"weekday": WEEKDAYS, "hour": _HOURS, "iso day": iso_days}[part.type]
    return rng.choice([choice for choice in choices if choice != part.text])


def _other_year(text: str, part: Part, stated: Sequence[int], rng: Random) -> str | None:
    old = int(part.text)
    step = 10 if part.type == "decade" else 1
    near = [year for year in stated if 0 < abs(year - old) <= _NEAREST_YEARS and year % step == 0]
    if near and rng.random() < 0.6:
        new = rng.choice(near)
    else:
        new = old + step * rng.choice([-6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6])
    possible = new <= max(old, _LAST_YEAR)
    return str(new) if possible and in_order(text, part.start, part.end, old, new) else None
