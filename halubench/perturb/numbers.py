"""Numbers: another figure of the same form, of the context or of shifted size."""

import re
from collections.abc import Iterator
from random import Random

from .dates import date_parts
from .figures import FIGURE, counts, in_order, ordinal, value_of
from .source import NUMBER_WORDS, Source
from .types import Draft, Edit

_WORD = re.compile(
    rf"(?<![\w-])(?:{'|'.join(NUMBER_WORDS[2:])})(?![\w-])(?!\s+(?:hundred|thousand|million|billion))",
    re.IGNORECASE,
)
_UP = re.compile(r"\b(?:over|more than|at least|above|exceed\w*|minimum of|greater than)\s+$", re.I)
_DOWN = re.compile(
    r"\b(?:under|(?:less|fewer|lower|no more) than|at most|below|within|up to|maximum of)\s+$", re.I
)
_CONTEXT_TRIES = 2
_APART = 0.08  # share by which a made figure differs from the old one, at the least
_SAME = 0.02  # share by which it differs from every figure of the context, so not a rounding
_FARTHEST = 8  # times larger or smaller than the old one, at the most
_SMALL = 20


def numbers(text: str, source: Source, rng: Random) -> Iterator[Draft]:
    """Yield drafts that replace a figure by another of the same form.

    Figures of the context come first, then one of shifted size that no document holds.
    """
    taken = [(part.start, part.end) for part in date_parts(text)]
    for match in FIGURE.finditer(text):
        start, end = match.span("figure")
        free = not any(begin < end and start < stop for begin, stop in taken)
        if free and counts(text, match):
            for figure in _other_figures(text, match, source, rng):
                whole = ordinal(int(value_of(figure))) if match["suffix"] else figure
                stop = match.end("suffix") if match["suffix"] else end
                yield Draft("number", (Edit(start, stop, whole),))
    for match in _WORD.finditer(text):
        old = NUMBER_WORDS.index(match.group().lower())
        choices = [value for value in range(max(2, old - 3), min(old + 4, 21)) if value != old]
        new = NUMBER_WORDS[rng.choice(choices)]
        written = new.capitalize() if match.group()[0].isupper() else new
        yield Draft("number", (Edit(*match.span(), written),))


def _other_figures(text: str, match: re.Match[str], source: Source, rng: Random) -> Iterator[str]:
    """Yield figures of the same form that could replace it, likely ones first."""
    figure = match["figure"]
    old = value_of(figure)
    before = text[max(0, match.start() - 20) : match.start()]
    up, down = bool(_UP.search(before)), bool(_DOWN.search(before))

    def fits(new: float) -> bool:
        if (up and new < old) or (down and new > old) or abs(new - old) < _APART * abs(old):
            return False
        if (match["percent"] and old <= 100 < new) or (match["suffix"] and new > 100):
            return False
        return new != 1 and in_order(text, *match.span("figure"), old, new)

    alike = [
        other
        for other, value in source.figures
        if _shape(other) == _shape(figure)
        and 1 / _FARTHEST <= value / (old or 1) <= _FARTHEST
        and fits(value)
    ]
    yield from rng.sample(alike, min(_CONTEXT_TRIES, len(alike)))
    shifted = [_shift(figure, rng) for _ in range(6)]
    for other in shifted:
        if fits(value_of(other)) and not _known(value_of(other), source):
            yield other
            return


def _shape(figure: str) -> tuple[int, bool, bool, bool]:
    """Return decimals, and whether any is not 0, thousands are set apart, it may be a year."""
    decimals = figure.partition(".")[2]
    year_like = bool(re.fullmatch(r"(?:1[5-9]|20)\d\d", figure))
    apart = "," in figure or value_of(figure) < 1_000
    return len(decimals), bool(decimals.strip("0")), apart, year_like


def _shift(figure: str, rng: Random) -> str:
    """Return a figure of another size with as many decimals and, if whole, trailing zeros."""
    decimals = len(figure.partition(".")[2])
    old = value_of(figure)
    if not decimals and old <= _SMALL:
        new = max(2.0, old + rng.choice((-3, -2, -1, 1, 2, 3)))
    else:
        new = (
            old
            * rng.choice((0.45, 0.6, 0.7, 0.8, 1.25, 1.4, 1.6, 1.8, 2.2))
            * rng.uniform(0.95, 1.05)
        )
    digits = figure.replace(",", "").partition(".")[0]
    zeros = len(digits) - len(digits.rstrip("0"))
    while zeros and round(new, -zeros) == 0:
        zeros -= 1
    whole = value_of(figure).is_integer()  # 1577.00 counts in whole numbers
    new = round(new, -zeros if whole else decimals)
    apart = "," in figure or old < 1_000 <= new
    return f"{new:,.{decimals}f}" if apart else f"{new:.{decimals}f}"


def _known(value: float, source: Source) -> bool:
    """Return whether the context holds a figure that the value could be a rounding of."""
    # Small counts are everywhere; whether one is stated of the same thing is left to verification.
    return value > _SMALL and any(
        abs(value - known) <= _SAME * abs(known) for _, known in source.figures
    )
