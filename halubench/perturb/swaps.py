"""Two values of one sentence exchanged, and units: another of the same dimension."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random
from typing import NamedTuple

from .dates import date_parts
from .entities import STANDS_ALONE, TYPES, comparable, typed_names
from .figures import FIGURE, counts
from .source import Sentence, Source, read
from .types import Draft, Edit
from .words import WORDS

_DIMENSIONS: Sequence[Sequence[str]] = WORDS["dimensions"]
_SINGULAR_ONLY = frozenset({"thousand", "million", "billion", "trillion", "Fahrenheit", "Celsius"})
_UNITS_OF = {unit: dimension for dimension in reversed(_DIMENSIONS) for unit in dimension}
_PLURALS = {"inch": "inches", "foot": "feet"}

_COORDINATE = re.compile(
    r"[\s,;/&–-]*(?:(?:million|billion|out of)\s)?"
    r"(?:(?:and|or|to|with|by|versus|vs\.?|x)\b[\s,]*)*(?:the\s)?"
)
_JOINTS = re.compile(r"\b(?:and|the|with|plus|versus)\b")
_RANGE = re.compile(r"\b(?:from|between|rang(?:es?|ed|ing))\s(?:\w+\s)?\S?$", re.IGNORECASE)
# What holds both ways round.
_SYMMETRIC = re.compile(
    r"\b(?:met|marr(?:y|ied)|between|and|or|with|versus|vs|same|similar|equals?|both|like|share[sd]?"
    r"|from|known as|called|named|aka|formerly|i\.e|which is|border\w*)\b|[(\[=:;]",
    re.IGNORECASE,
)
# A share of a whole, or the whole: "11 of 28".
_OF = re.compile(r"\bof\s(?:the\s)?$"), re.compile(r"\s(?:out\s)?of\b")
_LIST = re.compile(r",\s*(?:and\s+|or\s+)?$|^\s*,")
_ARTICLE = re.compile(r"\bthe\s$", re.IGNORECASE)
_NAMED = TYPES - {"acronym"}  # of which nothing tells that they can take each other's place
_FARTHEST = 60  # characters between two names that one verb relates
_LENGTH_APART = 2  # characters; 50 and 1,200,000 do not count the same kind of thing
_MOST_PAIRS = 6
_SURE_DAY = 28  # that every month has
_DASHED = re.compile(r"\s?[-–—]\s?[$€£]?\d")


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


class Value(NamedTuple):
    """A value in a sentence, and the class within which it can be exchanged."""

    start: int
    end: int
    text: str
    type: str


def list_swaps(text: str, source: Source, rng: Random) -> Iterator[Draft]:
    """Exchange two values of the same class that belong to different heads."""
    pairs = [
        (sentence, one, other)
        for sentence in read((text,)).sentences
        for one, other in combinations(_values(sentence, source), 2)
        if one.type == other.type and one.text != other.text
    ]
    for sentence, one, other in rng.sample(pairs, min(_MOST_PAIRS, len(pairs))):
        if _have_own_heads(sentence, one, other):
            edits = Edit(one.start, one.end, other.text), Edit(other.start, other.end, one.text)
            yield Draft("list-swap", tuple(edit.moved(sentence.start) for edit in edits))


def _values(sentence: Sentence, source: Source) -> list[Value]:
    text = sentence.text
    parts = list(date_parts(text))
    found = [
        Value(*part[:4])
        for part in parts
        if part.type in ("year", "weekday") or (part.type == "month" and part.day <= _SURE_DAY)
    ]
    for match in FIGURE.finditer(text):
        start, end = match.start(), match.end("percent" if match["percent"] else "figure")
        dated = any(part.start < end and start < part.end for part in parts)
        ranged = _DASHED.match(text, end) or text[:start].endswith(("-", "–", "—"))
        if counts(text, match) and not (match["suffix"] or dated or ranged):
            kind = "percent" if match["percent"] else match["currency"] or "figure"
            found.append(Value(start, end, text[start:end], kind))
    found += [Value(*name) for name in typed_names(text, source) if name.type in _NAMED]
    return sorted(found)


def _have_own_heads(sentence: Sentence, one: Value, other: Value) -> bool:
    """Return whether exchanging the two says something else: no range, no mere list of equals."""
    text = sentence.text
    between = text[one.end : other.start]
    listed = _COORDINATE.fullmatch(between)
    if "respectively" in text[other.end :].lower():
        return bool(listed) or one.type not in TYPES
    if listed or _RANGE.search(text[max(0, one.start - 30) : one.start]):
        return False
    if one.type in TYPES:
        return _related(text, one, other)
    if abs(len(one.text) - len(other.text)) > _LENGTH_APART:
        return False
    if unit_behind(text, one.end) != unit_behind(text, other.end):
        return False  # 14 days and 60 mg
    if any(_OF[0].search(text, 0, v.start) or _OF[1].match(text, v.end) for v in (one, other)):
        return False
    near = sentence.near(one.start, one.end), sentence.near(other.start, other.end)
    return near[0] != near[1] and bool(re.search(r"[a-z]{3}", _JOINTS.sub("", between)))


def _related(text: str, one: Value, other: Value) -> bool:
    """Return whether one name does something to the other that the other does not do to it."""
    between = text[one.end : other.start]
    articles = {bool(_ARTICLE.search(text, 0, value.start)) for value in (one, other)}
    if len(articles) > 1 or not STANDS_ALONE.match(text, other.end) or _SYMMETRIC.search(between):
        return False
    verb = re.search(r"^\s[a-z]{3,}\b", between)
    alike = comparable(one.text, other.text)
    return bool(verb) and alike and not _LIST.search(between) and len(between) <= _FARTHEST
