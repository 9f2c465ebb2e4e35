"""Which of a text's numbers a claim is about, by the words around them."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cached_property

from .quantities import Literal, find_literals
from .tokens import stems_of

ENDS = re.compile(r"[.!?]\s|\n")
_CLAUSE = re.compile(r"[.,;:!?()|\n](?:\s|$)")
_YEAR = re.compile(r"1\d{3}|20\d\d")


class Beside:
    """A claim, with the question that it answers, beside a text of the documents."""

    def __init__(self, claim: str, question: str, text: str) -> None:
        """Join the parts; nothing is read before it is asked for. The question may be empty."""
        self.claim = claim
        self.question = question
        self.text = text

    @cached_property
    def numbers(self) -> tuple[Literal, ...]:
        """The numbers, dates and times of the text, in order."""
        return tuple(find_literals(self.text))

    @cached_property
    def told(self) -> tuple[Literal, ...]:
        """Those of the claim, and then those of its question."""
        return (*find_literals(self.claim), *find_literals(self.question))

    def is_about(self, some: Collection[Literal]) -> bool:
        """Return whether it shares as many words with numbers of the text as with any of a kind."""
        least = min(self._fits[one] for one in some)
        return all(
            next((self._fits[one] for one in self._ranked[kind] if one not in some), 0) <= least
            for kind in {_kind(one, self.text) for one in some}
        )

    @cached_property
    def _ranked(self) -> dict[str, list[Literal]]:
        """The numbers by kind, those first that the claim is most about."""
        ranked: defaultdict[str, list[Literal]] = defaultdict(list)
        for one in sorted(self.numbers, key=self._fits.__getitem__, reverse=True):
            ranked[_kind(one, self.text)].append(one)
        return ranked

    @cached_property
    def _fits(self) -> dict[Literal, int]:
        """How many words of the claim stand in each number's sentence, and in its clause."""
        said = set(stems_of(f"{self.claim} {self.question}"))
        ends = [0, *(one.end for one in self.numbers)]
        starts = [*(one.start for one in self.numbers[1:]), len(self.text)]
        return {
            one: sum(
                len(said.intersection(stems_of(part)))
                for part in (
                    _around(ENDS, self.text, one, 0, len(self.text)),
                    _around(_CLAUSE, self.text, one, before, after),
                )
            )
            for one, before, after in zip(self.numbers, ends, starts, strict=False)
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
