"""Numbers that are said in round figures: "over 1,200" of 1,240, "nearly 100 m" of 98.6 m.

The word in front says which way a number may be off, and 10 % is as far as it goes, 5 % either way.
Without a word a number of two figures or more is what rounds to it and is within 1 %: 4.9 million
is 4.87 million, 1,200 is not 1,240. Years are never round.
"""

import re
from collections.abc import Iterator
from fractions import Fraction

from .meant import Beside, is_year
from .quantities import Literal, Number

_HEDGE = re.compile(
    r"(?:(?P<about>\b(?:about|around|approximately|approx\.|roughly|some|circa|ca\.|close to)|~)"
    r"|(?P<below>\b(?:nearly|almost|not quite|under|below|less than|fewer than|up to))"
    r"|(?P<above>\b(?:over|above|more than|at least|upwards? of|in excess of|beyond"
    r"|exceed(?:s|ed|ing)?|surpass(?:es|ed|ing)?|topp(?:ed|ing)|tops)))\s*(?:an?\s)?$",
    re.I,
)
_LONGEST = 40  # characters in front of a number
_OFF, _EITHER_WAY, _CLOSE = Fraction(1, 10), Fraction(1, 20), Fraction(1, 100)
_FIGURES = 10  # a number of two figures at least is that many times the size of its last


def hedge(own: Literal, claim: str) -> str | None:
    """Return what the word in front of a number lets it be: `about`, `below`, `above`, or None."""
    found = _HEDGE.search(claim[max(0, own.start - _LONGEST) : own.start])
    return found.lastgroup if found else None


def agrees(mine: Number, exact: Fraction, hedged: str | None) -> bool:
    """Return whether a number, with what `hedge` says of it, is an exact one in its dimension."""
    off = exact - mine.value
    if hedged is None:
        return off == 0
    if hedged == "about":
        return abs(off) <= _EITHER_WAY * abs(exact)
    return 0 < (off if hedged == "above" else -off) <= _OFF * abs(exact)


def find_exact(own: Literal, beside: Beside) -> Iterator[Literal]:
    """Yield the numbers of a text that a number of the claim says in round figures."""
    if own.ordinal or is_year(own, beside.claim):
        return
    hedged = hedge(own, beside.claim)
    for other in beside.numbers:
        if not other.ordinal and any(
            agrees(mine, theirs.value, hedged) if hedged else _rounds(mine, theirs)
            for mine in own.numbers
            for theirs in other.numbers
            if mine.dimension == theirs.dimension
        ):
            yield other


def _rounds(mine: Number, theirs: Number) -> bool:
    last, off = mine.step * mine.size, abs(theirs.value - mine.value)
    return (
        theirs.step * theirs.size < last
        and abs(mine.value) >= _FIGURES * last
        and off <= min(last / 2, _CLOSE * abs(theirs.value))
    )
