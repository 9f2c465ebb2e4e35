"""Answers written from drawn records, with the truth of each sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from .catalogue import SCHEMAS
from .facts import Dice
from .printing import print_world
from .schema import load_schema
from .world import draw_world
from .writer import Sentence, Writer

# Records of places with attributes and reviews are what such answers are most often written from.
_TURNS = (*SCHEMAS, "place", "hotel", "place")
_GAPS = (" ", " ", " ", " ", "\n", "\n- ")


@dataclass(frozen=True, slots=True)
class SyntheticSentence:
    """One sentence of a synthetic answer, at a range of code points.

    Attributes:
        error: the kind of error, one of those in README.md; None if supported.
        spans: its unsupported ranges, as offsets into the answer.
        family: `schema/fact/form/phrase`; two joined by `+` for a compound sentence; `filler/...`
            for a sentence that claims nothing.
    """

    start: int
    end: int
    supported: bool
    error: str | None
    spans: tuple[tuple[int, int], ...]
    family: str


@dataclass(frozen=True, slots=True)
class SyntheticAnswer:
    """An answer of one to eight sentences, written from a record that is printed as its context.

    Attributes:
        schema: the kind of record, one of `SCHEMAS`.
        form: how the context is printed, one of `printing.FORMS`.
        question: an instruction, a question or blank.
    """

    schema: str
    form: str
    context: str
    question: str
    answer: str
    sentences: tuple[SyntheticSentence, ...]


def generate(count: int, seed: int) -> Iterator[SyntheticAnswer]:
    """Yield `count` answers over records of all schemas, in turn.

    About half of them hold one or two wrong sentences. Labels and spans are known because every
    sentence is written from values of the record, or from values that were chosen to differ.
    The same seed gives the same answers; a larger count only adds to them.
    """
    dice = Dice(Random(seed))  # noqa: S311 - chance, not secrecy
    for at in range(count):
        world = draw_world(load_schema(_TURNS[at % len(_TURNS)]), dice.rng)
        context, form = print_world(world, dice.rng)
        question, sentences = Writer(world, dice).write()
        answer, placed = _join(sentences, dice.rng.choice(_GAPS))
        yield SyntheticAnswer(world.schema.name, form, context, question, answer, placed)


def _join(sentences: list[Sentence], gap: str) -> tuple[str, tuple[SyntheticSentence, ...]]:
    """Put sentences one after the other and move their spans along."""
    answer = gap.lstrip()
    placed: list[SyntheticSentence] = []
    for sentence in sentences:
        if placed:
            answer += gap
        start = len(answer)
        answer += sentence.text.text
        spans = tuple((start + first, start + last) for first, last in sentence.text.spans)
        placed.append(
            SyntheticSentence(
                start, len(answer), sentence.error is None, sentence.error, spans, sentence.family
            )
        )
    return answer, tuple(placed)
