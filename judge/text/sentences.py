"""Split text into sentences whose offsets index the original string.

Lines are split first, so that headings, list items and table rows stand alone; then the sentence
ends of scripts that need no space after them; then syntok, which is shown a copy of equal length
in which the dots it is known to misread are rewritten. Long lines reach syntok in runs, which keeps
the whole linear in time.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from syntok import segmenter

_LIST_MARK = re.compile(r"\s*(?:[-*•‣◦▪●–—·]|\(?\d{1,3}[.)]|\(?[A-Za-z][.)])(?=\s+\S)\s*")

# Chinese and Japanese, Arabic and Urdu, Hindi, Armenian, Burmese, Ethiopic and Khmer ends, with
# what closes after them. In Japanese, a sentence continues with と or って after what it quotes.
_STOPS = "。！？｡؟۔।॥։။።។"
_CLOSERS = "」』”’\"'）)】》"
_SCRIPT_END = re.compile(
    rf"(?<![{_STOPS}])(?>[{_STOPS}]+[{_CLOSERS}]*)(?!(?<=[{_CLOSERS}])[とっ、，])"
)

_TITLES = "Gov|Rep|Lt|Sgt|Rev|Pres|Hon|Pvt|Cpl|Maj|Adm|Supt|Dept|Messrs"
_REFERENCES = (
    "pp?|[Ee]qs?|[Ss]ecs?|[Cc]h|[Vv]ols?|[Nn]os?|[Ff]igs?|[Rr]efs?|[Aa]pprox"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
)
_NO_END = re.compile(
    rf"\b(?:{_TITLES})\.(?=\s)|\b(?:{_REFERENCES})\.(?=\s?\d)"
    r"|(?<=\d)\.(?=\d)|(?<=\w)\.(?=[a-z]{2})"  # 3.50, example.org
)
_INLINE_MARK = re.compile(r"(?:(?<=[.!?;]\s)\d{1,2}|(?<=:\s)1)\.(?=\s+\S)")
# Footnotes and Markdown's marks, between a full stop and the next sentence.
_TRAILER = re.compile(
    r"(?<=[.!?])(?:[*_]{1,3}(?=\s|$)|[⁰¹²³⁴-⁹]{1,9}|(?:\s?\[\d{1,3}(?:[,–-]\s?\d{1,3})*\])+)"
)
_STARTERS = (
    "He|She|We|You|They|I|My|Our|Your|His|Her|Their|There|These|Those|When|While|If|After|Before"
    "|At|But|By|From|With|To|Then|Next|Please|Some|Most|Many|Each|Both"
)
_ABBREVIATED_END = re.compile(
    r"\b(?:[ap]\.m|[A-Z]\.[A-Z]|etc|Inc|Ltd|Corp|Co|Jr|Sr|St|Ave|Blvd|Rd)\."
    rf"(?=\s+(?:{_STARTERS})\b)"
    r"|(?:(?<=\d\s)[a-z]|(?<=°)\s?[CF])\.(?=\s+[A-Z][a-z])"  # 24 h, 220 °C
)
_UNCASED_START = re.compile(r"(?<=[.!?]\s)(?<!\.[a-z]\.\s)[a-z]")

_RUN = 4_000  # characters given to syntok at once
SHORT = 32_000  # characters of a text that is split at once, and remembered
_WHITE = re.compile(r"\s")


class Piece(NamedTuple):
    """A half-open range of the original text and what it holds."""

    start: int
    end: int
    text: str


def split_sentences(text: str) -> list[Piece]:
    """Split `text` into sentences, in order and without overlap.

    Every character that is not white space is in exactly one piece; a list mark stays with the
    sentence it introduces. No piece begins or ends with white space.
    """
    return list(iter_sentences(text))


def iter_sentences(text: str) -> Iterator[Piece]:
    """Yield the sentences that `split_sentences` returns; of a long text, a few at a time."""
    return iter(_split(text)) if len(text) <= SHORT else _pieces(text)


@lru_cache(maxsize=64)  # a document is looked at from several sides, one after the other
def _split(text: str) -> tuple[Piece, ...]:
    return tuple(_pieces(text))


def _pieces(text: str) -> Iterator[Piece]:
    line_start = 0
    for line in text.splitlines(keepends=True):
        for start, end in pairwise(chain([0], _ends(line))):
            if piece := line[start:end].strip():
                begin = line_start + line.index(piece[0], start)
                yield Piece(begin, begin + len(piece), piece)
        line_start += len(line)


def body_start(sentence: str) -> int:
    """Return the offset at which a sentence begins after its list mark, 0 where it has none."""
    mark = _LIST_MARK.match(sentence)
    return mark.end() if mark else 0


def _ends(line: str) -> Iterator[int]:
    """Yield where the sentences of one line end, rising; the last is the line's own end."""
    if not line.lstrip().startswith("|"):  # a table's row stands alone
        start = body_start(line)
        clear = _rewrite(line)
        for match in _SCRIPT_END.finditer(clear, start):
            yield from _syntok_ends(clear, start, match.end())
            yield match.end()
            start = match.end()
        yield from _syntok_ends(clear, start, len(line))
    yield len(line)


def _rewrite(line: str) -> str:
    """Rewrite what syntok misreads, character for character."""
    clear = _NO_END.sub(_with_comma, line.replace("…", "."))
    clear = _INLINE_MARK.sub(_with_comma, clear)
    clear = _TRAILER.sub(lambda match: " " * len(match.group()), clear)
    clear = _ABBREVIATED_END.sub(lambda match: "o" * (len(match.group()) - 1) + ".", clear)
    if clear.islower():
        clear = _UNCASED_START.sub(lambda match: match.group().upper(), clear)
    return clear


def _with_comma(match: re.Match[str]) -> str:
    return match.group().replace(".", ",")


def _syntok_ends(line: str, start: int, end: int) -> Iterator[int]:
    """Yield the sentence ends that syntok finds inside of line[start:end], rising.

    A run's last sentence may go on after it, so the next run begins with it again, or at the cut
    where that would read more than half of the run twice.
    """
    while start < end:
        cut = end
        if end - start > _RUN:
            gap = _WHITE.search(line, start + _RUN, min(end, start + 2 * _RUN))
            cut = gap.end() if gap else start + _RUN
        starts = [start + offset for offset in _syntok_starts(line[start:cut])]
        yield from starts[1:]
        goes_on = cut < end and starts and starts[-1] - start >= _RUN // 2
        start = starts[-1] if goes_on else cut


def _syntok_starts(run: str) -> list[int]:
    return [
        sentence[0].offset
        for paragraph in segmenter.analyze(run)
        for sentence in paragraph
        if sentence
    ]
