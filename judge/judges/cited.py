"""An answer's sentences, what a judge found each to be, and the marks by which each cites."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from ..contract.types import Sentence, SentenceLabel
from ..text import Mark, Piece, read_markup, split_sentences


class Unit(NamedTuple):
    """A sentence of the answer: where it is, what it was found to be, and what it cites."""

    piece: Piece
    # of the worst claim in it
    label: SentenceLabel
    raw_score: float
    marks: tuple[Mark, ...]  # its own


def read_units(answer: str, sentences: Sequence[Sentence]) -> tuple[list[Unit], list[Mark]]:
    """Return the answer's sentences with their marks, and the marks that go for all without one.

    A sentence may have been judged in parts. What is markup alone is none; its marks belong to the
    sentence before it.
    """
    said, marks = read_markup(answer)
    ordered = sorted(sentences, key=lambda sentence: sentence.start)
    starts = [sentence.start for sentence in ordered]
    units = []
    for piece in split_sentences(answer):
        if not any(map(str.isalnum, said[piece.start : piece.end])):
            continue
        first = max(0, bisect_right(starts, piece.start) - 1)
        own = [
            one
            for one in ordered[first : bisect_right(starts, piece.end - 1)]
            if one.end > piece.start and one.label != "NO_INFO"
        ]
        labels = {one.label for one in own} or {"NO_INFO"}
        label = next(one for one in ("UNSUPPORTED", "SUPPORTED", "NO_INFO") if one in labels)
        score = max((one.raw_score or 0.0 for one in own), default=0.0)
        units.append(Unit(piece, label, score, ()))
    begins = [unit.piece.start for unit in units]
    for mark in marks if units else ():
        if not mark.whole:
            number = max(0, bisect_right(begins, mark.start) - 1)
            units[number] = units[number]._replace(marks=(*units[number].marks, mark))
    return units, [mark for mark in marks if mark.whole]
