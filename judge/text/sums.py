"""What a reader computes from the numbers of a text: a total, a difference, how long a thing lasts.

"14 euros and 6 euros" is "20 euros together", "from 8:00 to 16:00" is "eight hours". One step of
arithmetic over numbers that stand near each other, exact but for shares and where the claim says
"about". Rules for English, made to miss: a total or a difference has to be called one.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import chain, pairwise
from typing import NamedTuple

from .meant import ENDS, Beside, is_year, years_of
from .quantities import Day, Literal, Number
from .rounded import agrees, hedge

_NEAR = 250  # characters between numbers that are computed with
_BEHIND = 12  # numbers at most that one is paired with
_WORDS = 40  # characters between a quantity and the word that says what it is
_MOST = 6  # numbers of one total
_TIMES = range(2, 101)  # what may be multiplied
_PART = re.compile(r"\d[-–/:.]$")  # what follows is a part of a number: the 04 of 2003-04
_ANY_YEAR = 2001
_EACH = re.compile(r"\b(?:each|per|apiece|every)\b", re.I)
_SHARE = re.compile(r"\s*(?:of|the)\b", re.I)
_ROUND = Fraction(1, 2)  # per cent
_TOTAL = re.compile(
    r"\b(?:total(?:s|ed|led|ing|ling)?|altogether|together|in all|combined|sum|both|overall"
    r"|between them|adds? up)\b",
    re.I,
)
_AND = re.compile(r"\b(?:and|plus|with|including)\b", re.I)
_SMALL = 12  # what so many things add up to is too often a chance where only an "and" says so
_DIFFERENCE = re.compile(
    r"\b(?:difference|gap|margin|by|(?:more|less|fewer)(?! than [$€£]?\d)|another|extra|rest|left"
    r"|remain(?:s|ing|ed)?|still|free|others?|without|later|earlier|after|before|ahead|behind"
    r"|apart|sav(?:es?|ed|ing)|los(?:es?|t|ing)|gain(?:s|ed)?|rose|risen|rises?|grew|grown"
    r"|fell|fallen|falls?|drop(?:s|ped)?"
    r"|(?:in|de)creased?|reduced?|cheaper|dearer|longer|shorter|older|younger|higher|lower|taller"
    r"|heavier|lighter|farther|further|faster|slower|bigger|larger|smaller|wider|deeper)\b",
    re.I,
)

Numbers = tuple[Literal, ...]
Way = tuple[Numbers, str]
"""Numbers that give a quantity, and what joins their words."""


class _Said(NamedTuple):
    """A quantity of a claim, and what the word in front of it lets it be."""

    numbers: tuple[Number, ...]
    hedged: str | None


def say_computed(own: Literal, beside: Beside) -> str | None:
    """Return a text's words for the numbers that give a quantity of a claim.

    Args:
        own: the quantity, one of the claim's that the text does not have.
        beside: the claim and the text.

    Returns:
        The words, to be read in the quantity's place: "14 euros and 6 euros", "8:00 to 16:00". None
        where no one step of arithmetic gives the quantity.
    """
    claim, text = beside.claim, beside.text
    if own.ordinal or not own.numbers or _PART.search(claim, 0, own.start) or is_year(own, claim):
        return None
    near = f"{claim[max(0, own.start - _WORDS) : own.end + _WORDS]} {beside.question}"
    told = [each for each in beside.told if each != own]
    said = _Said(own.numbers, hedge(own, claim))
    counts = tuple(one for one in beside.numbers if not (one.ordinal or is_year(one, text)))
    ways = (
        _lasting(said, text, beside.numbers),
        _multiples(said, told, text, counts),
        _shares(said, counts) if _SHARE.match(claim, own.end) else (),
        _totals(said, near, counts),
        _differences(said, counts) if _DIFFERENCE.search(near) else (),
    )
    for numbers, joint in chain(*ways):
        if beside.is_about(numbers):
            return joint.join(text[one.start : one.end] for one in numbers)
    return None


def _lasting(own: _Said, text: str, theirs: Numbers) -> Iterator[Way]:
    """Yield two times, days or years that lie as far apart as the quantity says."""
    for one, other in pairwise([each for each in theirs if each.minutes]):
        apart = {60 * ((b - a) % 1440) for a in one.minutes for b in other.minutes}
        if _is(own, "second", apart) and not ENDS.search(text, one.end, other.start):
            yield (one, other), " to "
    dates = [each for each in theirs if each.days or is_year(each, text)]
    for one, other in chain(pairwise(dates), zip(dates, dates[2:], strict=False)):
        days = {86400 * each for a in one.days for b in other.days for each in _days_apart(a, b)}
        years = {12 * abs(a - b) for a in years_of(one, text) for b in years_of(other, text)}
        in_years = own.numbers[0].size == 12 and _is(own, "month", years)
        if in_years or _is(own, "second", days):
            yield (one, other), " to "


def _multiples(own: _Said, told: Sequence[Literal], text: str, theirs: Numbers) -> Iterator[Way]:
    """Yield what is counted out, by the claim or the text.

    It is 14 euros of "two adults pay 28 euros", and "3 panels of 310 watts each" of 930 watts.
    """
    counts = {_count(each) for each in told}.intersection(_TIMES)
    for number in own.numbers:
        for one in theirs:
            value = _value(one, number)
            if value not in (None, 0, 1) and any(
                agrees(number, count * value, own.hedged) for count in counts
            ):
                yield (one,), ""
        for one, other in pairwise(theirs):
            count, value = _count(one), _value(other, number)
            counted = count in _TIMES and value and agrees(number, count * value, own.hedged)
            if counted and _EACH.search(text, one.end, other.end + _WORDS):
                yield (one, other), " of "


def _shares(own: _Said, theirs: Numbers) -> Iterator[Way]:
    shares = [each.value for each in own.numbers if each.dimension == "%"]
    for one, other in _pairs(theirs):
        for number in one.numbers:
            a, b = number.value, _value(other, number) or Fraction(0)
            if number.dimension == "%" or min(a, b) <= 0:
                continue
            exact = 100 * min(a, b) / max(a, b)
            if any(abs(share - exact) <= _ROUND for share in shares):
                yield (one, other) if a < b else (other, one), " of "


def _totals(own: _Said, near: str, theirs: Numbers) -> Iterator[Way]:
    for number in own.numbers:
        many = number.value > _SMALL if not number.dimension else number.dimension != "%"
        if not (_TOTAL.search(near) or (many and _AND.search(near))):
            continue
        values = {one: _value(one, number) or Fraction(0) for one in theirs}
        parts = [one for one, value in values.items() if 0 < value < number.value]
        runs = (
            tuple(parts[start:end])
            for start in range(len(parts))
            for end in range(start + 3, min(start + _MOST, len(parts)) + 1)
        )
        for some in chain(_pairs(parts), runs):
            total = sum((values[one] for one in some), Fraction(0))
            if agrees(number, total, own.hedged):
                yield some, " and "


def _differences(own: _Said, theirs: Numbers) -> Iterator[Way]:
    for number in own.numbers:
        for one, other in _pairs(theirs):
            a, b = _value(one, number), _value(other, number)
            if a is None or b is None or a == b:
                continue
            if agrees(number, abs(a - b), own.hedged):
                yield (one, other), " to "


def _pairs(theirs: Sequence[Literal]) -> Iterator[tuple[Literal, Literal]]:
    for place, one in enumerate(theirs):
        for other in theirs[place + 1 : place + 1 + _BEHIND]:
            if other.start - one.end > _NEAR:
                break
            yield one, other


def _value(literal: Literal, number: Number) -> Fraction | None:
    """Return a number of a text in the terms of another; "4.1 million" may be of what that is."""
    same = (each.value for each in literal.numbers if each.dimension == number.dimension)
    bare = (each.value for each in literal.numbers if literal.scale > 1 and not each.dimension)
    return next(chain(same, (value * number.size for value in bare)), None)


def _count(literal: Literal) -> Fraction:
    return next((each.value for each in literal.numbers if not each.dimension), Fraction(0))


def _is(own: _Said, dimension: str, values: Collection[int]) -> bool:
    return any(
        each.dimension == dimension and agrees(each, Fraction(value), own.hedged)
        for each in own.numbers
        for value in values
    )


def _days_apart(one: Day, other: Day) -> Iterator[int]:
    """Yield how many days lie between two dates, without the first day and with it."""
    year = one.year or other.year or _ANY_YEAR
    try:
        first = date(year, one.month or 0, one.day or 0)
        last = date(other.year or year, other.month or 0, other.day or 0)
    except ValueError:  # no day of the calendar, or a month alone
        return
    apart = abs((last - first).days)
    if apart:
        yield from (apart, apart + 1)
