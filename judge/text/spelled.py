"""Numbers in English words, and shares: `two and a half million`, `a dozen`, `a third of the`.

text2num and word2number read fewer of these, and say neither where in a text a number is nor
how exactly it is meant.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from .units import UNIT

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen""".split()  # noqa: SIM905 (as below)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
# A list would take a line for each word.
_ORDINALS = """zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh
    twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth
    """.split()  # noqa: SIM905
_WORDS: dict[str, int] = {
    **{word: value for value, word in enumerate(_ONES)},
    **{word: 10 * value for value, word in enumerate(_TENS, start=2)},
    **{word: value for value, word in enumerate(_ORDINALS)},
    **{f"{word[:-1]}ieth": 10 * value for value, word in enumerate(_TENS, start=2)},
    "hundredth": 100,
}
# What counts a number that goes before it.
SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 10**3,
    "lakh": 10**5,
    "million": 10**6,
    "crore": 10**7,
    "billion": 10**9,
    "trillion": 10**12,
}
_SCALE = "|".join(SCALES)
_BEHIND_SCALE = "|".join(f"(?<={scale})" for scale in SCALES)
_WORD = "|".join(sorted([*_WORDS, *SCALES], key=len, reverse=True))
# An ordinal ends a number: "the first three" are two.
_CARDINALS = frozenset([*_ONES, *_TENS, *SCALES])
_CARDINAL = "|".join(sorted(_CARDINALS, key=len, reverse=True))
_DIGIT = "|".join(_ONES[:10])
_PARTS = {
    "half": 2,
    "third": 3,
    "quarter": 4,
    **{word: value for value, word in enumerate(_ORDINALS) if 4 <= value <= 10},
}
_PART = "|".join(_PARTS)
_COUNT = "|".join(_ONES[1:10])
_SPELLED = re.compile(
    rf"\b(?P<parts>an?|{_COUNT})[\s-](?P<part>{_PART})s?\sof\san?\s(?P<part_of>{UNIT})(?!\w)"
    rf"|\b(?P<one>(?P<half>half\s)?an?\s(?=(?:{_SCALE})\b))?"
    rf"(?P<words>(?:(?:{_CARDINAL})(?:[\s-]|(?:{_BEHIND_SCALE})\sand\s))*(?:{_WORD}))\b"
    rf"(?:(?:\spoint(?P<decimals>(?:\s(?:{_DIGIT}))+)|(?P<more>\sand\sa\shalf))\b"
    rf"(?:[\s-](?P<scale>{_SCALE})\b)?)?"
    rf"(?:[\s-](?P<unit>{UNIT})(?!\w)(?P<behind>\sand\sa\shalf\b(?!-))?)?"
    rf"|\bhalf(?:\san?\s|-)(?P<half_of>{UNIT})(?!\w)"
    rf"|\ba\s(?P<one_of>fortnight|decade|century)\b"
    rf"|\ban?\s(?P<and_half>{UNIT})\sand\sa\shalf\b(?!-)",
    re.IGNORECASE,
)
# Of one unit, by the group that names it: how many, and the size of the last digit that is said.
_AMOUNTS = {
    "half_of": (Fraction(1, 2), Fraction(1, 10)),
    "one_of": (Fraction(1), Fraction(1)),
    "and_half": (Fraction(3, 2), Fraction(1, 10)),
}
_SHARE = re.compile(
    rf"\b(?:(?P<count>an?|{_COUNT})[\s-])?(?P<part>{_PART})s?(?P<of>\sof\s"
    r"(?:the|all|its|his|her|their|our|your|my|these|those|them|us)\b)?"
    r"(?!\s(?:day|week|month|year|season|game|match|century|decade|time|way|\d))",
    re.IGNORECASE,
)
# Hours as times of day in words say them: "half past three", "noon", "ten in the morning".
_TWELVES = {"noon": 12, "midday": 12, "midnight": 0}
_HOURS = {
    **{word: value % 12 for value, word in enumerate(_ONES[:13]) if value},
    **{str(value): value % 12 for value in range(1, 13)},
    **_TWELVES,
}
_HOUR = "|".join(sorted(_HOURS, key=len, reverse=True))
_PAST = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}
_CLOCK = re.compile(
    rf"\b(?:(?:a\s)?(?P<minutes>{'|'.join(reversed(_PAST))})(?:\sminutes)?\s(?P<side>past|to)\s)?"
    rf"(?P<hour>{_HOUR})(?P<sharp>\so.clock)?"
    r"(?:\s(?P<part>in\sthe\s(?:morning|afternoon|evening)|at\snight))?\b",
    re.IGNORECASE,
)
# "The first half of the", "the other half of the", "more than half of the": no share is stated.
_NO_SHARE = re.compile(
    r"\b(?:(?!just\b)\w*st|\w*nd|\w*rd|\w*th|\w*er|than|below|above|nearly|almost|every|each|top|bottom)\s$"
)
_NEAR = Fraction(5)  # percentage points about a share that is meant
_EXACT = Fraction(1, 1000)
_NIGHT = 360  # minutes: "three at night" is after midnight, "eight at night" before it
_MOST = 10**30  # what is longer counts nothing


class Spelled(NamedTuple):
    """A number in words at [start, end)."""

    # where it is, with its unit
    start: int
    end: int
    value: Fraction  # without its unit
    step: Fraction  # the size of the last digit that it says
    unit: str | None  # its name, if any
    scale: int = 1  # the word that it ends with, as "million"
    ordinal: bool = False


def find_spelled(text: str) -> Iterator[Spelled]:
    """Yield the numbers in words, in order; "millions" or "a few hundred" are left out."""
    for match in _SPELLED.finditer(text):
        kind = match.lastgroup or ""
        if kind in _AMOUNTS:
            yield Spelled(*match.span(), *_AMOUNTS[kind], match[kind])
        elif match["part_of"]:
            count, part = _WORDS.get(match["parts"].lower(), 1), _PARTS[match["part"].lower()]
            yield Spelled(*match.span(), Fraction(count, part), Fraction(1, 100), match["part_of"])
        elif (value := _read(match)) is not None:
            last = re.split(r"[\s-]+", (match["scale"] or match["words"]).lower())[-1]
            ordinal = last not in _CARDINALS
            yield Spelled(*match.span(), *value, match["unit"], SCALES.get(last, 1), ordinal)


def _read(match: re.Match[str]) -> tuple[Fraction, Fraction] | None:
    """Return value and step; None where a scale counts nothing, or the number is too large."""
    words = re.split(r"[\s-]+", match["words"].lower())
    if words[0] in SCALES and not match["one"]:
        return None
    whole = Fraction(_join(words))
    if whole > _MOST:
        return None
    digits = str(whole)
    step = Fraction(10 ** (len(digits) - len(digits.rstrip("0"))) if whole else 1)
    scale = Fraction(SCALES[match["scale"].lower()] if match["scale"] else 1)
    if match["half"]:
        return whole / 2, whole / 10
    if match["decimals"]:
        decimals = [_WORDS[word] for word in match["decimals"].lower().split()]
        step = Fraction(1, 10 ** len(decimals))
        whole += int("".join(map(str, decimals))) * step
    elif match["more"] or match["behind"]:
        # "Two million and a half" is half a million more.
        last = Fraction(SCALES.get(words[-1], 1))
        whole, step = whole + last / 2, last / 10
    return whole * scale, step * scale


def _join(words: list[str]) -> int:
    total = part = 0
    for word in words:
        if total + part > _MOST:
            break
        if word in SCALES:
            part = max(part, 1) * SCALES[word]
            if word != "hundred":
                total, part = total + part, 0
        elif word in _WORDS:
            # "Nineteen eighty-four", "twenty twelve": years are said in two parts.
            is_year = 10 <= part < 100 and _WORDS[word] >= 10
            part = part * (100 if is_year else 1) + _WORDS[word]
    return total + part


class Clock(NamedTuple):
    """A time of day in words at [start, end): the minutes since midnight that it may mean."""

    start: int
    end: int
    minutes: tuple[int, ...]


def find_clock(text: str) -> Iterator[Clock]:
    """Yield the times of day in words, in order; "eight" alone and "five to ten" are none."""
    for match in _CLOCK.finditer(text):
        name, part = match["hour"].lower(), (match["part"] or "").lower()
        told = bool(match["sharp"] or part or name in _TWELVES)
        near = match["minutes"] and match["minutes"].lower()
        if not told and (near is None or (match["side"] == "to" and near in _WORDS)):
            continue
        minutes = 60 * _HOURS[name]
        if near:
            minutes += _PAST[near] if match["side"] == "past" else -_PAST[near]
        if name in _TWELVES or part.endswith("morning"):
            halves: tuple[int, ...] = (0,)
        elif part:
            halves = (0,) if part.endswith("night") and minutes < _NIGHT else (720,)
        else:
            halves = (0, 720)
        yield Clock(*match.span(), tuple((minutes + half) % 1440 for half in halves))


def find_shares(text: str, *, loose: bool = False) -> Iterator[Spelled]:
    """Yield shares as percentages, each as near as it is meant and as exactly as it is said.

    Only those that can be nothing else, as `two thirds of the`; if `loose`, all that may be meant.
    """
    for match in _SHARE.finditer(text):
        count = (match["count"] or "").lower()
        told = match["of"] and (count or match["part"].lower() == "half")
        if not loose and (
            not told or _NO_SHARE.search(text[max(0, match.start() - 24) : match.start()].lower())
        ):
            continue
        parts = _WORDS.get(count, 1)
        value = Fraction(100 * parts, _PARTS[match["part"].lower()])
        if value <= 100:
            end = match.start("of") if match["of"] else match.end()
            yield Spelled(match.start(), end, value, _NEAR, "%")
            yield Spelled(match.start(), end, value, _EXACT, "%")
