"""The context cut into blocks: sentences, and the lines of flattened records and tables."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from ...text import SHORT, iter_sentences, stems_of
from ...text.absence import denied_stems
from ...text.flatten import Line, flatten
from .claims import cut_tokens

_KEPT = 64  # short documents: the answers over one document mostly come one after the other
_LIST = 3  # blocks, and a fourth of all, that say what there is not: the document lists it
_AT_ONCE = 32  # sentences of a long document that are tokenised together


class Block(NamedTuple):
    """The smallest part of a context that is read.

    A flattened line ends in a full stop, so blocks of all kinds are joined by blanks alone.
    """

    document: int  # which of the context's documents it is from
    # the range of that document that it says; never empty
    start: int
    end: int
    text: str  # what is read: the range itself, or what it says flattened
    ids: NDArray[np.int64]  # the tokens of `text`, shape (tokens,)
    stems: tuple[str, ...]  # its content words in order, as they are compared
    # of what there is not, in a record or a list: only a claim with one of these is read with it
    absent: frozenset[str] = frozenset()


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
    blocks = tuple(_read(document, tokenizer, longest))
    denied = {i: denied_stems(b.text) for i, b in enumerate(blocks) if not b.absent}
    if sum(map(bool, denied.values())) < max(_LIST, len(denied) / 4):
        return blocks
    return tuple(b._replace(absent=denied.get(i, b.absent)) for i, b in enumerate(blocks))


def _read(document: str, tokenizer: Tokenizer, longest: int) -> Iterator[Block]:
    flat = flatten(document)
    pieces = (Line(*p) for p in iter_sentences(document)) if flat is None else iter(flat)
    while some := list(islice(pieces, _AT_ONCE)):
        # A blank in front, as in a window: tokenizers that join it to a word give the same tokens.
        encodings = tokenizer.encode_batch([f" {p.text}" for p in some], add_special_tokens=False)
        for piece, encoding in zip(some, encodings, strict=True):
            yield from _blocks(piece, encoding, document, tokenizer, longest)


def _blocks(
    piece: Line, encoding: Encoding, document: str, tokenizer: Tokenizer, longest: int
) -> Iterator[Block]:
    """Yield the piece as blocks; parts of a flattened line all have the range of the whole."""
    ids = np.array(encoding.ids, dtype=np.int64)
    cuts = cut_tokens(encoding, longest)
    if len(cuts) == 1:
        if len(ids):  # else no character that the tokenizer knows
            yield _block(piece, ids)
        return
    verbatim = piece.text == document[piece.start : piece.end]
    offsets, words = encoding.offsets, [*encoding.word_ids, None]  # new lists each time
    for first, last in cuts:
        begin = max(0, offsets[first][0] - 1)
        end = max(begin + 1, offsets[last - 1][1] - 1)
        part = piece._replace(text=piece.text[begin:end])
        if verbatim:
            part = Line(piece.start + begin, piece.start + end, part.text)
        torn = (first and words[first] == words[first - 1]) or words[last] == words[last - 1]
        if torn and len(part.text) < len(piece.text):
            # Part of a word has tokens of its own, which is what training reads.
            own = tokenizer.encode(f" {part.text}", add_special_tokens=False)
            yield from _blocks(part, own, document, tokenizer, longest)
        else:
            yield _block(part, ids[first:last])


def _block(line: Line, ids: NDArray[np.int64]) -> Block:
    stems = tuple(stems_of(line.text))
    return Block(0, line.start, line.end, line.text, ids, stems, line.absent)
