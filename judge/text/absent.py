"""Literals of an answer that none of its documents holds: numbers, dates and names.

They are compared as values, not as text: units, formats, ranges and spelled-out numbers are read
(`moonlynx.judge.text.quantities`), records and tables in the documents are flattened first.

Made to miss rather than to accuse. Not named is what the documents may imply: counts up to twelve,
sums, differences and percentages of their numbers, what a number of theirs rounds to, and what the
question says. Nothing here knows which thing a number belongs to.
"""

import re
from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract.types import Example
from . import body_start, claims_nothing, iter_sentences
from . import words as tokens
from .flatten import flatten
from .quantities import Day, Literal, Number, find_literals
from .spelled import find_shares
from .units import TIMES

Floats = NDArray[np.float64]
_FEW = 12  # counts up to here are left to the judge
_MOST_NUMBERS = 300  # of one kind in the documents, whose sums are tried
_APPROXIMATE = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|over|under|more than|less than|at least"
    r"|at most|up to|some|circa|~)\s?[$€£]?$",
    re.IGNORECASE,
)
_PIECE = 16  # sentences that are read between two yields
_OF_WORDS = re.compile(r"[\s-]words?\b")  # "a summary in 50 words" is about itself
_NEAR = Fraction(1, 10)
_NO_SUMS = ("percentage point", "celsius")  # which only differ
_YEARS = frozenset(map(Fraction, range(1500, 2100)))


class Absent(NamedTuple):
    """A literal of the answer, at [start, end), that no document holds."""

    start: int
    end: int
    text: str


def find_absent(example: Example) -> Generator[None, None, list[Absent]]:
    """Return the answer's numbers, dates and names that nothing it was given holds, in order.

    Yields often, however long the answer is.
    """
    given = _read((*example.context, example.question, *(t.content for t in example.conversation)))
    absent: list[Absent] = []
    for number, piece in enumerate(iter_sentences(example.answer), start=1):
        if number % _PIECE == 0:
            yield
        if claims_nothing(piece.text):
            continue
        body = body_start(piece.text)
        literals = find_literals(piece.text)
        names = _absent_names(piece.text, given)
        # "Celsius" and "Canadian dollars" belong to a number.
        names = [
            name for name in names if not any(one.start < name[1] <= one.end for one in literals)
        ]
        for start, end in (*_absent_literals(piece.text, literals, given), *names):
            if start >= body:
                absent.append(Absent(piece.start + start, piece.start + end, piece.text[start:end]))
    return sorted(absent)


class _Given(NamedTuple):
    """What the documents hold, and the question."""

    numbers: frozenset[Number]  # all readings of their numbers
    bare: frozenset[Fraction]  # those of them without a unit, and the days and years of dates
    ranges: tuple[tuple[Number, Number], ...]  # pairs of numbers, from one to the other
    days: frozenset[Day]  # dates
    minutes: frozenset[int]  # times of day, since midnight
    words: tuple[str, ...]  # their words, lower case, sorted; initials of names too
    # what their words for shares may say, in percent; of no other number's kind
    shares: frozenset[Number]
    amounts: dict[str, Floats]  # the numbers by dimension, that others may follow from


@lru_cache(maxsize=64)  # the answers over one document mostly come one after the other
def _read(texts: tuple[str, ...]) -> _Given:
    literals: list[tuple[Literal, Literal | None]] = []
    shares: set[Number] = set()
    words: set[str] = set()
    for text in texts:
        pieces = flatten(text) or []
        # The text itself too: flattening may leave out what is between.
        for part in (text, *(piece.text for piece in pieces)):
            found = find_literals(part)
            literals += zip_longest(found, found[1:])
            shares.update(
                Number(s.value, s.value, "%", s.step) for s in find_shares(part, loose=True)
            )
            words.update(token.form for token in tokens(part))
            words.update(_initials(part))
    ranges = tuple(
        ends
        for one, other in literals
        if one.to_next and other is not None
        for ends in _ranges(one, other)
    )
    numbers = frozenset(number for literal, _ in literals for number in literal.numbers)
    numbers |= {low for low, _ in ranges}
    days = frozenset(day for literal, _ in literals for day in literal.days)
    dated = {Fraction(part) for day in days for part in (day.year, day.day) if part is not None}
    return _Given(
        numbers | {Number(each, each, "", Fraction(1)) for each in dated},
        frozenset(dated | {number.value for number in numbers if not number.dimension}),
        ranges,
        days,
        frozenset(minutes for literal, _ in literals for minutes in literal.minutes),
        tuple(sorted(words)),
        frozenset(shares),
        _amounts(numbers),
    )


def _ranges(one: Literal, other: Literal) -> Iterator[tuple[Number, Number]]:
    """Yield the ends of a range in all readings.

    Scale and unit of the upper one apply to both: "3 to 5 billion" begins at 3 billion.
    """
    scale = other.scale if one.scale == 1 else 1
    for low in one.numbers:
        for high in other.numbers:
            lows = [low] if low.dimension else [_like(high, low, scale), _like(high, low, 1)]
            for each in lows:
                if each.dimension == high.dimension and each.value < high.value:
                    yield each, high
                    break


def _like(number: Number, bare: Number, scale: int) -> Number:
    """Return a number without a unit in the unit of another."""
    written, step = bare.written * scale, bare.step * scale
    zero = number.written - number.value / number.size
    value = (written - zero) * number.size
    return Number(written, value, number.dimension, step, number.size)


def _amounts(numbers: frozenset[Number]) -> dict[str, Floats]:
    """Return the numbers by dimension: their values, rising."""
    values: dict[str, set[Fraction]] = {}
    for number in numbers:
        values.setdefault(number.dimension, set()).add(number.value)
    return {
        dimension: np.array(sorted(each)[:_MOST_NUMBERS], dtype=np.float64)
        for dimension, each in values.items()
    }


def _may_follow(given: _Given, number: Number) -> bool:
    """Return whether it is, as far as it is written out, a sum, difference or percentage of two.

    Or the sum of all of one kind. A number without a unit may be of any kind.
    """
    close = float(number.step) / 2 + 1e-9
    factor = float(number.size)
    for dimension, values in given.amounts.items():
        # A change in percentage points is one of percentages.
        of = "%" if number.dimension == "percentage point" else number.dimension
        if dimension and of and not _alike(dimension, of):
            continue
        same = bool(dimension) == bool(of)
        wanted, off = float(number.value if same else number.written), close * factor
        if wanted <= off:  # below zero, as 30 °F is in °C, or no difference at all
            continue
        pairs = values[:, None], values
        made = [np.abs(np.subtract(*pairs))]
        if number.dimension not in _NO_SUMS:
            made += [np.add(*pairs), *([values.sum(keepdims=True)] if len(values) > 2 else [])]
        if any(np.any(np.abs(each - wanted) <= (off if same else close)) for each in made):
            return True
    if number.dimension not in ("", "%") or not given.amounts:
        return False
    values = np.concatenate([*given.amounts.values()])[:_MOST_NUMBERS]
    values = values[values > 0]
    shares = 100 * values[:, None] / values
    written = float(number.written)
    return any(np.any(np.abs(np.abs(shares - base) - written) <= close) for base in (0, 100))


def _absent_literals(
    sentence: str, literals: Sequence[Literal], given: _Given
) -> list[tuple[int, int]]:
    return [
        (literal.start, literal.end)
        for literal in literals
        if not _OF_WORDS.match(sentence, literal.end)
        and not _holds(given, literal, bool(_APPROXIMATE.search(sentence[: literal.start])))
    ]


def _holds(given: _Given, literal: Literal, approximate: bool) -> bool:
    """Return whether any reading of the literal is held, or may be implied."""
    if literal.days:
        return any(_holds_day(given, day) for day in literal.days)
    if literal.minutes:
        hours = {Fraction(minutes // 60 % 12 or 12) for minutes in literal.minutes}
        return bool(given.minutes & set(literal.minutes) or hours & given.bare)
    return any(_holds_number(given, number, approximate) for number in literal.numbers)


def _holds_day(given: _Given, day: Day) -> bool:
    """Accept a date whose parts the documents hold in different places."""
    month_and_day = any(
        (day.month is None or day.month == other.month) and day.day in (None, other.day)
        for other in given.days
    )
    years = {other.year for other in given.days}
    year = day.year is None or day.year in years or day.year in given.bare
    return month_and_day and year


def _holds_number(given: _Given, number: Number, approximate: bool) -> bool:
    if number.dimension in ("", *TIMES) and number.written <= _FEW:
        return not _swaps_unit(given, number)
    held = given.numbers | given.shares if number.dimension == "%" else given.numbers
    if any(_equal(number, other, approximate) for other in held):
        return True
    if any(
        low.value <= number.value <= high.value
        for low, high in given.ranges
        if high.dimension in ("", number.dimension)
    ):
        return True
    if _is_year(number):
        return False
    return _may_follow(given, number)


def _swaps_unit(given: _Given, number: Number) -> bool:
    """Return whether the documents hold the figure with another unit of time, and not with this."""
    times = [other for other in given.numbers if other.dimension in TIMES]
    return (
        bool(number.dimension)
        and any(other.written == number.written for other in times)
        and not any(_equal(number, other, False) for other in given.numbers)
    )


def _alike(one: str, other: str) -> bool:
    """Compare dimensions: a dollar is any country's dollar where the country is not named."""
    return one == other or one.startswith(f"{other} ") or other.startswith(f"{one} ")


def _is_year(number: Number) -> bool:
    """Return whether this looks like a year, which is no sum and is never rounded."""
    return not number.dimension and number.written in _YEARS


def _equal(number: Number, other: Number, approximate: bool) -> bool:
    """Compare values in one dimension, and as written where a unit is not known."""
    if _alike(number.dimension, other.dimension):
        mine, theirs = number.value, other.value
        step, converted = number.step * number.size, number.size != other.size
    elif not number.dimension or not other.dimension:
        mine, theirs, step, converted = number.written, other.written, number.step, False
    else:
        return False
    if mine == theirs:
        return True
    if _is_year(number):
        return False
    # What theirs rounds to at the last digit that says something, or comes to in another unit.
    finer = converted or other.step < number.step
    rounded = finer and abs(mine - theirs) <= step / 2
    return rounded or (approximate and abs(mine - theirs) <= _NEAR * max(mine, theirs))


_NAME = re.compile(r"(?<![\w’'.-])[A-Z][a-z]{2,}(?:['’-][A-Za-z]+)*")
_BEGINS = re.compile(r"(?:^|[.!?:;“”\"'(\[*_•–—-]\s*|\n\s*)$")
_NO_NAMES = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december mr mrs ms dr prof""".split()  # noqa: SIM905 (a list would take a line for each word)
)
_SHORT_STEM = 4


def _absent_names(sentence: str, given: _Given) -> list[tuple[int, int]]:
    """Return the capitalised words inside a sentence of which no document holds even the stem."""
    names = list(_NAME.finditer(sentence))
    # A heading has capitals throughout.
    if 2 * len(names) > len(sentence.split()):
        return []
    return [
        match.span()
        for match in names
        if not _BEGINS.search(sentence[: match.start()])
        and match.group().lower() not in _NO_NAMES
        and not _holds_name(given, match.group())
    ]


def _holds_name(given: _Given, name: str) -> bool:
    """Compare by the first letters: America is held by American. Of a compound, only its names."""
    names = [part for part in re.split(r"['’-]", name) if part[:1].isupper() and len(part) > 2]
    stems = [part.lower()[: max(_SHORT_STEM, len(part) - 3)] for part in names]
    return all(_begins_one(stem, given.words) for stem in stems)


def _begins_one(stem: str, words: Sequence[str]) -> bool:
    at = bisect_left(words, stem)
    return at < len(words) and words[at].startswith(stem)


def _initials(text: str) -> set[str]:
    runs = re.findall(r"(?:[A-Z][a-z]+(?:\s(?:of|and|the|for))?\s){1,5}[A-Z][a-z]+", text)
    return {"".join(word[0] for word in run.split() if word[0].isupper()).lower() for run in runs}
