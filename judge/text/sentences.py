"""Split text into sentences whose offsets index the original string.

Lines are split first, so that headings, list items and table rows stand alone; then the sentence
ends of scripts that need no space after them; then syntok, for abbreviations, decimals and quotes.
Long runs are cut at white space before syntok sees them, which keeps the whole linear in time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import NamedTuple

from syntok import segmenter

# Chinese and Japanese, Arabic and Urdu, Hindi, Burmese, Ethiopic and Khmer ends, with what closes
# behind them.
_SCRIPT_END = re.compile(r"[。！？｡؟۔।॥።။។]+[」』”’\"'）)】》]*")
_BULLET = re.compile(r"\s*(?:[-*•‣◦▪●–—·]|\(?\d{1,3}[.)]|\(?[A-Za-z][.)])(?=\s+\S)\s*")
_RUN = 4_000  # characters given to syntok at once
_WHITE = re.compile(r"\s")


class Piece(NamedTuple):
    """A half-open range of the original text and what it holds."""

    start: int
    end: int
    text: str


def split_sentences(text: str) -> list[Piece]:
    """Split `text` into sentences, in order and without overlap.

    Every character that is not white space lies in exactly one piece; a list mark stays with the
    sentence it introduces. No piece begins or ends with white space.
    """
    pieces = []
    line_start = 0
    for line in text.splitlines(keepends=True):
        for start, end in pairwise(chain([0], _boundaries(line))):
            if piece := line[start:end].strip():
                begin = line_start + line.index(piece[0], start)
                pieces.append(Piece(begin, begin + len(piece), piece))
        line_start += len(line)
    return pieces


def _boundaries(line: str) -> Iterator[int]:
    """Give the sentence ends of one line, rising; the last is the line's own."""
    bullet = _BULLET.match(line)
    start = bullet.end() if bullet else 0
    for end in chain((match.end() for match in _SCRIPT_END.finditer(line, start)), [len(line)]):
        for run_start, run_end in _runs(line, start, end):
            # The run's first sentence goes on from the run before it.
            for sentence in islice(_syntok_starts(line[run_start:run_end]), 1, None):
                yield run_start + sentence
        yield end
        start = end


def _runs(line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut what is too long for syntok, at white space where there is some."""
    while end - start > _RUN:
        gap = _WHITE.search(line, start + _RUN, min(end, start + 2 * _RUN))
        cut = gap.end() if gap else start + _RUN
        yield start, cut
        start = cut
    yield start, end


def _syntok_starts(run: str) -> Iterator[int]:
    for paragraph in segmenter.analyze(run):
        for sentence in paragraph:
            if sentence:
                yield sentence[0].offset
