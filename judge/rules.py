"""The rule tier: numbers, dates and names of an answer that none of its documents holds.

It stands before any judge (`?rules=on`). Literals are compared as values, not as text: units,
formats, ranges and spelled-out numbers are read (`moonlynx.judge.text.quantities`), records and
tables in the documents are flattened first. A sentence with a literal that nothing holds is
UNSUPPORTED, and its answer FAIL; all else the judge decides.

It is made to miss rather than to accuse. Left to the judge is what the documents may imply: counts
up to twelve, sums, differences and percentages of their numbers, what a number of theirs rounds to,
and what the question says. It knows nothing of which thing a number belongs to, and cannot prove an
answer right.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import AsyncJudge, Judge
from .text import Piece, body_start, claims_nothing, split_sentences
from .text import words as tokens
from .text.flatten import flatten
from .text.quantities import Day, Literal, Number, find_literals
from .types import Example, JudgeInfo, Sentence, Span, Stage, Usage, Verdict

Floats = NDArray[np.float64]
VERSION = "rules-1"
NAME = "rules"
_FEW = 12  # counts up to here are left to the judge
_MOST_NUMBERS = 300  # of one kind in the documents, whose sums are tried
_APPROXIMATE = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|over|under|more than|less than|at least"
    r"|at most|up to|some|circa|~)\s?[$€£]?$",
    re.IGNORECASE,
)
_OF_WORDS = re.compile(r"[\s-]words?\b")  # "a summary in 50 words" speaks of itself
_NEAR = Fraction(1, 10)
_YEARS = frozenset(map(Fraction, range(1500, 2100)))


class Absent(NamedTuple):
    """A literal of the answer, at [start, end), that no document holds."""

    start: int
    end: int
    text: str


class RuleTier:
    """A judge with the rule tier before it.

    The judge judges every answer; the tier then marks the sentences in which it finds an absent
    literal. `raw_score` stays the judge's own; where the tier changes the score, `probability` is
    null, since no calibration speaks of it. A verdict's `stages` name the tier and the judge.

    Attributes:
        abstains: whether the judge does.
        stages: the judge, by itself.
    """

    acall: Callable[[Sequence[Example]], Awaitable[list[Verdict]]]

    def __init__(self, judge: Judge) -> None:
        self.info = JudgeInfo(name=judge.info.name, version=f"{judge.info.version}+{VERSION}")
        self._judge = judge
        self.stages = (judge,)
        self.abstains = bool(getattr(judge, "abstains", False))
        if isinstance(judge, AsyncJudge):
            self.acall = partial(self._acall, judge)

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        return self._join(examples, self._judge(examples))

    async def _acall(self, judge: AsyncJudge, examples: Sequence[Example]) -> list[Verdict]:
        return self._join(examples, await judge.acall(examples))

    def _join(self, examples: Sequence[Example], verdicts: Sequence[Verdict]) -> list[Verdict]:
        return [self._settle(e, v) for e, v in zip(examples, verdicts, strict=True)]

    def _settle(self, example: Example, verdict: Verdict) -> Verdict:
        absent = find_absent(example)
        own = Stage(
            judge=verdict.judge.name, score=verdict.score, decided=not absent, usage=verdict.usage
        )
        later = verdict.stages or (own,)
        if not absent:
            rules = Stage(judge=NAME, score=None, decided=False, usage=Usage())
            return verdict.model_copy(update={"judge": self.info, "stages": (rules, *later)})
        later = tuple(stage.model_copy(update={"decided": False}) for stage in later)
        rules = Stage(judge=NAME, score="FAIL", decided=True, usage=Usage())
        reasons = tuple(f"No document holds “{each.text}”." for each in absent)
        return verdict.model_copy(
            update={
                "judge": self.info,
                "score": "FAIL",
                "error": None,
                "probability": verdict.probability if verdict.score == "FAIL" else None,
                "reasoning": reasons + verdict.reasoning,
                "spans": _spans(example, verdict.spans, absent),
                "sentences": _sentences(example, verdict.sentences, absent),
                "stages": (rules, *later),
            }
        )


def find_absent(example: Example) -> list[Absent]:
    """Give the numbers, dates and names of the answer that nothing it was given holds, in order."""
    given = _read((*example.context, example.question, *(t.content for t in example.conversation)))
    absent: list[Absent] = []
    for piece in split_sentences(example.answer):
        if claims_nothing(piece.text):
            continue
        body = body_start(piece.text)
        for start, end in (*_absent_literals(piece.text, given), *_absent_names(piece.text, given)):
            if start >= body:
                absent.append(Absent(piece.start + start, piece.start + end, piece.text[start:end]))
    return sorted(absent)


class _Given(NamedTuple):
    """What the documents hold, and the question.

    Attributes:
        numbers: all readings of their numbers.
        bare: those of them without a unit, and the days and years of dates.
        ranges: pairs of numbers, from one to the other.
        days: dates.
        minutes: times of day, since midnight.
        words: their words, lower case; initials of names too.
        amounts: the numbers by dimension, of which others may be made.
    """

    numbers: frozenset[Number]
    bare: frozenset[Fraction]
    ranges: tuple[tuple[Number, Number], ...]
    days: frozenset[Day]
    minutes: frozenset[int]
    words: frozenset[str]
    amounts: dict[str, Floats]


@lru_cache(maxsize=64)  # the answers over one document mostly come one after the other
def _read(texts: tuple[str, ...]) -> _Given:
    literals: list[tuple[Literal, Literal | None]] = []
    words: set[str] = set()
    for text in texts:
        pieces = flatten(text) or []
        # The text itself too: flattening may leave out what stands between.
        for part in (text, *(piece.text for piece in pieces)):
            found = find_literals(part)
            literals += zip_longest(found, found[1:])
            words.update(token.form for token in tokens(part))
            words.update(_initials(part))
    numbers = frozenset(number for literal, _ in literals for number in literal.numbers)
    days = frozenset(day for literal, _ in literals for day in literal.days)
    dated = {Fraction(part) for day in days for part in (day.year, day.day) if part is not None}
    return _Given(
        numbers | {Number(each, each, "", Fraction(1)) for each in dated},
        frozenset(dated | {number.value for number in numbers if not number.dimension}),
        tuple(
            (low, high)
            for one, other in literals
            if one.to_next and other is not None
            for low in one.numbers
            for high in other.numbers
            if low.value < high.value and (low.dimension in ("", high.dimension))
        ),
        days,
        frozenset(minutes for literal, _ in literals for minutes in literal.minutes),
        frozenset(words),
        _amounts(numbers),
    )


def _amounts(numbers: frozenset[Number]) -> dict[str, Floats]:
    """Give the numbers by dimension: their values, rising."""
    values: dict[str, set[Fraction]] = {}
    for number in numbers:
        values.setdefault(number.dimension, set()).add(number.value)
    return {
        dimension: np.array(sorted(each)[:_MOST_NUMBERS], dtype=np.float64)
        for dimension, each in values.items()
    }


def _may_follow(given: _Given, number: Number) -> bool:
    """Say whether it is, as far as it is written out, a sum, difference or percentage of two.

    Or the sum of all of one kind. A number without a unit may be of any kind.
    """
    close = float(number.step) / 2 + 1e-9
    factor = float(number.value / number.written) if number.written else 1.0
    for dimension, values in given.amounts.items():
        if dimension and number.dimension and dimension != number.dimension:
            continue
        same = dimension == number.dimension
        wanted, off = float(number.value if same else number.written), close * factor
        pairs = values[:, None], values
        made = [np.add(*pairs), np.abs(np.subtract(*pairs))]
        if len(values) > 2:
            made.append(values.sum(keepdims=True))
        if any(np.any(np.abs(each - wanted) <= (off if same else close)) for each in made):
            return True
    if number.dimension not in ("", "%") or not given.amounts:
        return False
    values = np.concatenate([*given.amounts.values()])[:_MOST_NUMBERS]
    values = values[values > 0]
    shares = 100 * values[:, None] / values
    written = float(number.written)
    return any(np.any(np.abs(np.abs(shares - base) - written) <= close) for base in (0, 100))


def _absent_literals(sentence: str, given: _Given) -> list[tuple[int, int]]:
    return [
        (literal.start, literal.end)
        for literal in find_literals(sentence)
        if not _OF_WORDS.match(sentence, literal.end)
        and not _holds(given, literal, bool(_APPROXIMATE.search(sentence[: literal.start])))
    ]


def _holds(given: _Given, literal: Literal, approximate: bool) -> bool:
    """Say whether any reading of the literal is held, or may be implied."""
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
    if number.dimension in ("", "second", "month") and number.written <= _FEW:
        return True
    if any(_equal(number, other, approximate) for other in given.numbers):
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


def _is_year(number: Number) -> bool:
    """Say whether this looks like a year, which is no sum and is never rounded."""
    return not number.dimension and number.written in _YEARS


def _equal(number: Number, other: Number, approximate: bool) -> bool:
    """Compare values in one dimension, and as written where a unit is not known."""
    if number.dimension == other.dimension:
        mine, theirs = number.value, other.value
        step = number.step * (mine / number.written if number.written else 1)
    elif not number.dimension or not other.dimension:
        mine, theirs, step = number.written, other.written, number.step
    else:
        return False
    if mine == theirs:
        return True
    if _is_year(number):
        return False
    # What theirs rounds to at the last digit that says something.
    rounded = other.step < number.step and abs(mine - theirs) <= step / 2
    return rounded or (approximate and abs(mine - theirs) <= _NEAR * max(mine, theirs))


_NAME = re.compile(r"(?<![\w’'.-])[A-Z][a-z]{2,}(?:['’-][A-Za-z]+)*")
_BEGINS = re.compile(r"(?:^|[.!?:;“”\"'(\[*_•–—-]\s*|\n\s*)$")
_NO_NAMES = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december mr mrs ms dr prof""".split()  # noqa: SIM905 (a list would take a line for each word)
)
_SHORT_STEM = 4


def _absent_names(sentence: str, given: _Given) -> list[tuple[int, int]]:
    """Give the capitalised words inside a sentence of which no document holds even the stem."""
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
    parts = [part.lower() for part in names]
    return all(
        part in given.words
        or any(word.startswith(part[: max(_SHORT_STEM, len(part) - 3)]) for word in given.words)
        for part in parts
    )


def _initials(text: str) -> set[str]:
    runs = re.findall(r"(?:[A-Z][a-z]+(?:\s(?:of|and|the|for))?\s){1,5}[A-Z][a-z]+", text)
    return {"".join(word[0] for word in run.split() if word[0].isupper()).lower() for run in runs}


def _spans(example: Example, spans: Sequence[Span], absent: Sequence[Absent]) -> tuple[Span, ...]:
    """Add the literals that no span of the judge covers."""
    new = [
        Span(start=each.start, end=each.end, text=example.answer[each.start : each.end])
        for each in absent
        if not any(span.start <= each.start and each.end <= span.end for span in spans)
    ]
    return tuple(sorted([*spans, *new], key=lambda span: (span.start, span.end)))


def _sentences(
    example: Example, sentences: Sequence[Sentence], absent: Sequence[Absent]
) -> tuple[Sentence, ...]:
    """Relabel the judge's sentences that hold an absent literal; give them where it has none."""
    listed = list(sentences)
    for piece in split_sentences(example.answer):
        is_new = not any(each.start < piece.end and piece.start < each.end for each in sentences)
        if is_new and _inside(piece, absent):
            listed.append(Sentence(start=piece.start, end=piece.end, label="UNSUPPORTED"))
    return tuple(
        sentence.model_copy(update={"label": "UNSUPPORTED", "evidence": (), "probability": None})
        if sentence.label != "UNSUPPORTED" and _inside(sentence, absent)
        else sentence
        for sentence in sorted(listed, key=lambda sentence: sentence.start)
    )


def _inside(part: Piece | Sentence, absent: Sequence[Absent]) -> bool:
    return any(part.start < each.end and each.start < part.end for each in absent)
