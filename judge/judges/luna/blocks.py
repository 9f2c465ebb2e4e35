"""The context cut into blocks: sentences, and the lines of flattened records and tables.

How well a block fits a text goes by the words they share. Tried on rows whose supporting sentences
are known (ContractNLI, HotpotQA): to divide by the root of the length, to compare words' beginnings
and to spread to neighbours each found more of them; extra weight for numbers, for names and for
pairs of words found none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from ...text import SHORT, Piece, content_tokens, iter_sentences
from ...text.flatten import flatten
from .claims import cut_tokens

_STEM = 5  # letters of a word that are compared: "towers" meets "towering"
_LEAST = 3  # letters of a word that is compared whole
_KEPT = 64  # short documents: the answers over one document mostly come one after the other
_NEIGHBOUR = 0.15  # of a block's score that those right before and after it get
_SHORT = 8  # tokens; shorter blocks count as this long
_AT_ONCE = 32  # sentences of a long document that are tokenised together


class Block(NamedTuple):
    """The smallest part of a context that is read.

    A flattened line ends in a full stop, so blocks of all kinds are joined by blanks alone.

    Attributes:
        document: which of the context's documents it is from.
        start, end: the range of that document that it says; never empty.
        text: what is read: the range itself, or what it says flattened.
        ids: the tokens of `text`, shape (tokens,).
        stems: its content words in order, as they are compared.
    """

    document: int
    start: int
    end: int
    text: str
    ids: NDArray[np.int64]
    stems: tuple[str, ...]


def stem(form: str) -> str:
    """Return the form by which a content word is compared: its beginning, or the whole of a number.

    A plural's s is no part of it: "years" meets "year".
    """
    return form if form[0].isdigit() or len(form) <= _LEAST else form.removesuffix("s")[:_STEM]


def read_blocks(document: str, index: int, tokenizer: Tokenizer, longest: int) -> Iterator[Block]:
    """Cut the document into blocks of at most `longest` tokens, in order.

    Args:
        document: its text. A short one is tokenised once, however many answers it is read for; a
            long one a few sentences at a time.
        index: its place among the context's documents.
        tokenizer: the encoder's, the same object every time.
        longest: tokens; longer sentences are cut between words.
    """
    read = _read_short if len(document) <= SHORT else _read
    for block in read(document, tokenizer, longest):
        yield block._replace(document=index)


@lru_cache(maxsize=_KEPT)
def _read_short(document: str, tokenizer: Tokenizer, longest: int) -> tuple[Block, ...]:
    return tuple(_read(document, tokenizer, longest))


def _read(document: str, tokenizer: Tokenizer, longest: int) -> Iterator[Block]:
    flat = flatten(document)
    pieces = iter_sentences(document) if flat is None else iter(flat)
    while some := list(islice(pieces, _AT_ONCE)):
        # A blank in front, as in a window: tokenizers that join it to a word give the same tokens.
        encodings = tokenizer.encode_batch([f" {p.text}" for p in some], add_special_tokens=False)
        for piece, encoding in zip(some, encodings, strict=True):
            yield from _blocks(piece, encoding, longest, document[piece.start : piece.end])


def _blocks(piece: Piece, encoding: Encoding, longest: int, written: str) -> Iterator[Block]:
    """Yield the piece as blocks; parts of a flattened line all have the range of the whole."""
    ids = np.array(encoding.ids, dtype=np.int64)
    offsets = encoding.offsets  # a new list each time
    for first, last in cut_tokens(encoding, longest):
        if last == first:
            continue  # no character that the tokenizer knows
        start, stop, text = piece.start, piece.end, piece.text
        if last - first < len(ids):
            begin = max(0, offsets[first][0] - 1)
            end = max(begin + 1, offsets[last - 1][1] - 1)
            text = piece.text[begin:end]
            if piece.text == written:
                start, stop = start + begin, start + end
        stems = tuple(stem(token.form) for token in content_tokens(text))
        yield Block(0, start, stop, text, ids[first:last], stems)


class Alignment:
    """An index of the words of one context's blocks."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        places: dict[str, list[int]] = {}
        for index, block in enumerate(blocks):
            for key in set(block.stems):
                places.setdefault(key, []).append(index)
        self._places = {key: np.array(indices) for key, indices in places.items()}
        documents = np.array([block.document for block in blocks], dtype=np.int64)
        self._adjacent = documents[1:] == documents[:-1]
        self._count = len(blocks)
        lengths = np.array([len(block.ids) for block in blocks], dtype=np.float64)
        self._divisor = np.sqrt(np.maximum(lengths, _SHORT))

    def score(self, text: str) -> NDArray[np.float64]:
        """Return each block's score, at least 0, shape (blocks,).

        The sum of the weights of the words shared with `text`, each counted once, over the root
        of the block's length; words that are rare in this context weigh most (idf). Blocks beside a
        fitting one fit a little too.
        """
        scores = np.zeros(self._count)
        for key in sorted({stem(token.form) for token in content_tokens(text)}):
            if (places := self._places.get(key)) is not None:
                scores[places] += np.log1p(self._count / len(places))
        spread = scores.copy()
        spread[1:] += _NEIGHBOUR * scores[:-1] * self._adjacent
        spread[:-1] += _NEIGHBOUR * scores[1:] * self._adjacent
        return np.asarray(spread / self._divisor)
