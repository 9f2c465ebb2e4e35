"""What a reader computes from the numbers of a text: a total, a difference, how long a thing lasts.

"14 euros and 6 euros" is "20 euros together", "from 8:00 to 16:00" is "eight hours". One step of
arithmetic, exact but for shares, over numbers that stand near each other. Rules for English, made
to miss: where a total or a difference is meant, a word of the claim has to say so.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import chain, pairwise

from .quantities import Day, Literal, Number
from .tokens import stems_of

_NEAR = 250  # characters between numbers that are computed with
_WORDS = 40  # characters between a quantity and the word that says what it is
_MOST = 6  # numbers of one total
_TIMES = range(2, 101)  # what may be multiplied
_YEAR = re.compile(r"1\d{3}|20\d\d")
_PART = re.compile(r"\d[-–/:.]$")  # what follows is a part of a number: the 04 of 2003-04
_ANY_YEAR = 2001
_EACH = re.compile(r"\b(?:each|per|apiece|every)\b", re.I)
_SHARE = re.compile(r"\s*(?:of|the)\b", re.I)
_ROUND = Fraction(1, 2)  # per cent
_ENDS = re.compile(r"[.!?]\s|\n")
_CLAUSE = re.compile(r"[.,;:!?()|\n](?:\s|$)")
_TOTAL = re.compile(
    r"\b(?:total(?:s|ed|led|ing|ling)?|altogether|together|in all|combined|sum|both|overall"
    r"|between them|adds? up)\b",
    re.I,
)
_AND = re.compile(r"\b(?:and|plus|with|including)\b", re.I)
_SMALL = 12  # what so many things add up to is too often a chance where only an "and" says so
_DIFFERENCE = re.compile(
    r"\b(?:difference|gap|margin|by|than|more|less|fewer|another|extra|rest|left|remain(?:s|ing|ed)?"
    r"|still|free|other|others|without|later|earlier|after|before|ahead|behind|apart|sav(?:es?|ed|ing)"
    r"|los(?:es?|t|ing)|gain(?:s|ed)?|rose|risen|rises?|grew|grown|fell|fallen|falls?|drop(?:s|ped)?"
    r"|(?:in|de)creased?|reduced?|cheaper|dearer|longer|shorter|older|younger|higher|lower|taller"
    r"|heavier|lighter|farther|further|faster|slower|bigger|larger|smaller|wider|deeper)\b",
    re.I,
)

Numbers = tuple[Literal, ...]
Way = tuple[Numbers, str]
"""Numbers that give a quantity, and what joins their words."""


def say_computed(
    own: Literal, claim: str, beside: Numbers, text: str, theirs: Numbers
) -> str | None:
    """Return a text's words for the numbers that give a quantity of a claim.

    Args:
        own: the quantity, as found in the claim.
        claim: where it stands.
        beside: all numbers of the claim.
        text: what the quantity is not in.
        theirs: the numbers, dates and times of the text, in order.

    Returns:
        The words, to be read in the quantity's place: "14 euros and 6 euros", "8:00 to 16:00". None
        where no one step of arithmetic gives the quantity.
    """
    if own.ordinal or not own.numbers or _PART.search(claim, 0, own.start) or _is_year(own, claim):
        return None
    near = claim[max(0, own.start - _WORDS) : own.end + _WORDS]
    counts = tuple(one for one in theirs if not (one.ordinal or _is_year(one, text)))
    ways = (
        _lasting(own, text, theirs),
        _multiples(own, beside, text, counts),
        _shares(own, counts) if _SHARE.match(claim, own.end) else (),
        _totals(own, near, counts),
        _differences(own, counts) if _DIFFERENCE.search(near) else (),
    )
    for numbers, joint in chain(*ways):
        if _are_meant(numbers, claim, text, theirs):
            return joint.join(text[one.start : one.end] for one in numbers)
    return None


def _are_meant(numbers: Numbers, claim: str, text: str, theirs: Numbers) -> bool:
    """Return whether the claim shares as many words with what is said of them as of any other."""
    said = set(stems_of(claim))

    def fit(place: int) -> int:
        one = theirs[place]
        before = theirs[place - 1].end if place else 0
        after = theirs[place + 1].start if place + 1 < len(theirs) else len(text)
        sentence = _around(_ENDS, text, one, 0, len(text))
        clause = _around(_CLAUSE, text, one, before, after)
        return sum(len(said.intersection(stems_of(part))) for part in (sentence, clause))

    kinds = {_kind(one, text) for one in numbers}
    fits = {one: fit(place) for place, one in enumerate(theirs) if _kind(one, text) in kinds}
    rest = [fits[one] for one in fits if one not in numbers]
    return min(fits[one] for one in numbers) >= max(rest, default=0)


def _kind(literal: Literal, text: str) -> str:
    if literal.days or _is_year(literal, text):
        return "date"
    return "time" if literal.minutes else literal.numbers[0].dimension


def _around(ends: re.Pattern[str], text: str, one: Literal, start: int, stop: int) -> str:
    """Return what stands around a number, from the end before it to the one behind it."""
    before = max((end.end() for end in ends.finditer(text, start, one.start)), default=start)
    after = ends.search(text, one.end, stop)
    return f"{text[before : one.start]} {text[one.end : after.start() if after else stop]}"


def _is_year(literal: Literal, text: str) -> bool:
    return bool(_YEAR.fullmatch(text, literal.start, literal.end))


def _lasting(own: Literal, text: str, theirs: Numbers) -> Iterator[Way]:
    """Yield two times, days or years that lie as far apart as the quantity says."""
    for one, other in pairwise([each for each in theirs if each.minutes]):
        apart = {60 * ((b - a) % 1440) for a in one.minutes for b in other.minutes}
        if _is(own, "second", apart) and not _ENDS.search(text, one.end, other.start):
            yield (one, other), " to "
    dates = [each for each in theirs if each.days or _is_year(each, text)]
    for one, other in chain(pairwise(dates), zip(dates, dates[2:], strict=False)):
        days = {86400 * each for a in one.days for b in other.days for each in _days_apart(a, b)}
        years = {12 * abs(a - b) for a in _years(one, text) for b in _years(other, text)}
        if _is(own, "second", days) or (_is(own, "month", years) and own.numbers[0].size == 12):
            yield (one, other), " to "


def _multiples(own: Literal, beside: Numbers, text: str, theirs: Numbers) -> Iterator[Way]:
    """Yield what is counted out, by the claim or the text.

    It is 14 euros of "two adults pay 28 euros", and "3 panels of 310 watts each" of 930 watts.
    """
    counts = {_count(each) for each in beside if each != own}
    for number in own.numbers:
        for one in theirs:
            value = _value(one, number)
            if value and value != 1 and number.value / value in counts.intersection(_TIMES):
                yield (one,), ""
        for one, other in pairwise(theirs):
            count, value = _count(one), _value(other, number)
            counted = count in _TIMES and value and count * value == number.value
            if counted and _EACH.search(text, one.end, other.end + _WORDS):
                yield (one, other), " of "


def _shares(own: Literal, theirs: Numbers) -> Iterator[Way]:
    shares = [each.value for each in own.numbers if each.dimension == "%"]
    for one, other in _pairs(theirs):
        for number in one.numbers:
            a, b = number.value, _value(other, number) or Fraction(0)
            if number.dimension == "%" or min(a, b) <= 0:
                continue
            exact = 100 * min(a, b) / max(a, b)
            if any(abs(share - exact) <= _ROUND for share in shares):
                yield (one, other) if a < b else (other, one), " of "


def _totals(own: Literal, near: str, theirs: Numbers) -> Iterator[Way]:
    for number in own.numbers:
        many = number.value > _SMALL if not number.dimension else number.dimension != "%"
        if not (_TOTAL.search(near) or (many and _AND.search(near))):
            continue
        parts = [one for one in theirs if 0 < (_value(one, number) or 0) < number.value]
        runs = (
            tuple(parts[start:end])
            for start in range(len(parts))
            for end in range(start + 3, min(start + _MOST, len(parts)) + 1)
        )
        for some in chain(_pairs(parts), runs):
            if sum(_value(one, number) or 0 for one in some) == number.value:
                yield some, " and "


def _differences(own: Literal, theirs: Numbers) -> Iterator[Way]:
    for number in own.numbers:
        for one, other in _pairs(theirs):
            a, b = _value(one, number), _value(other, number)
            if a is not None and b is not None and abs(a - b) == number.value > 0:
                yield (one, other), " to "


def _pairs(theirs: Sequence[Literal]) -> Iterator[tuple[Literal, Literal]]:
    for place, one in enumerate(theirs):
        for other in theirs[place + 1 :]:
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


def _is(own: Literal, dimension: str, values: Collection[int]) -> bool:
    return any(each.dimension == dimension and each.value in values for each in own.numbers)


def _years(literal: Literal, text: str) -> Iterator[int]:
    yield from (day.year for day in literal.days if day.year)
    if _is_year(literal, text):
        yield int(text[literal.start : literal.end])


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
