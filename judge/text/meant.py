"""Which of a text's numbers a claim is about, by the words around them."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from .quantities import Literal
from .tokens import stems_of

ENDS = re.compile(r"[.!?]\s|\n")
_CLAUSE = re.compile(r"[.,;:!?()|\n](?:\s|$)")
_YEAR = re.compile(r"1\d{3}|20\d\d")


class Meant:
    """A claim beside a text and its numbers, dates and times, given in order."""

    def __init__(self, claim: str, text: str, numbers: Sequence[Literal]) -> None:
        """Join the parts; nothing is read before it is asked for."""
        self._claim = claim
        self._text = text
        self._numbers = numbers

    def are(self, some: Collection[Literal]) -> bool:
        """Return whether the claim shares as many words with these as with any other of a kind."""
        least = min(self._fits[one] for one in some)
        return all(
            next((self._fits[one] for one in self._ranked[kind] if one not in some), 0) <= least
            for kind in {_kind(one, self._text) for one in some}
        )

    @cached_property
    def _ranked(self) -> dict[str, list[Literal]]:
        """The numbers by kind, those first that the claim is most about."""
        ranked: defaultdict[str, list[Literal]] = defaultdict(list)
        for one in sorted(self._numbers, key=self._fits.__getitem__, reverse=True):
            ranked[_kind(one, self._text)].append(one)
        return ranked

    @cached_property
    def _fits(self) -> dict[Literal, int]:
        """How many words of the claim stand in each number's sentence, and in its clause."""
        said = set(stems_of(self._claim))
        ends = [0, *(one.end for one in self._numbers)]
        starts = [*(one.start for one in self._numbers[1:]), len(self._text)]
        return {
            one: sum(
                len(said.intersection(stems_of(part)))
                for part in (
                    _around(ENDS, self._text, one, 0, len(self._text)),
                    _around(_CLAUSE, self._text, one, before, after),
                )
            )
            for one, before, after in zip(self._numbers, ends, starts, strict=False)
        }


def is_year(literal: Literal, text: str) -> bool:
    """Return whether it is a bare number that a year may be."""
    return bool(_YEAR.fullmatch(text, literal.start, literal.end))


def years_of(literal: Literal, text: str) -> Iterator[int]:
    """Yield the years that a date has, or that a bare number may be."""
    yield from (day.year for day in literal.days if day.year)
    if is_year(literal, text):
        yield int(text[literal.start : literal.end])


def _kind(literal: Literal, text: str) -> str:
    if literal.days or is_year(literal, text):
        return "date"
    return "time" if literal.minutes else literal.numbers[0].dimension


def _around(ends: re.Pattern[str], text: str, one: Literal, start: int, stop: int) -> str:
    """Return what stands around a number, from the end before it to the one behind it."""
    before = max((end.end() for end in ends.finditer(text, start, one.start)), default=start)
    after = ends.search(text, one.end, stop)
    return f"{text[before : one.start]} {text[one.end : after.start() if after else stop]}"
