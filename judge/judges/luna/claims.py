"""Cut an answer into claims: its sentences, the long ones in parts, each with what leads to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from ...text import (
    announcement_end,
    body_start,
    claims_nothing,
    find_denial,
    iter_sentences,
    read_markup,
)
from .inputs import Limits

_AT_ONCE = 32  # sentences that are tokenised together
_CHARACTERS = 16  # of text for each token of lead: what is further back is cut unseen


class Claim(NamedTuple):
    """A sentence of the answer, or a part of one that is too long to be read at once."""

    # its range in the answer, without a list mark in front
    start: int
    end: int
    text: str  # answer[start:end] with blanks in place of markup
    lead: str  # the question and what the answer says before, at most `Limits.lead` tokens
    # its sentence claims nothing that documents could support; it is neither read nor cut
    empty: bool
    ids: NDArray[np.int64]  # the tokens of `text`, shape (tokens,)
    offsets: NDArray[np.int64]  # the range of each token in the answer, shape (tokens, 2)
    lead_ids: NDArray[np.int64]  # the tokens of `lead`, shape (lead tokens,)


class _Part(NamedTuple):
    """A sentence of the answer or a part of it, and whether that sentence claims nothing."""

    start: int
    text: str
    silent: bool


def split_claims(
    question: str, answer: str, tokenizer: Tokenizer, limits: Limits
) -> Iterator[Claim]:
    """Cut the answer into claims, in order and without overlap, a few sentences at a time.

    A sentence of more than `limits.claim` tokens is cut between words into parts of about the same
    length (the paper's footnote 4).
    """
    lead = _Lead(question, read_markup(answer).text, tokenizer, limits.lead)
    parts = _parts(question, answer, tokenizer, limits.claim)
    while some := list(islice(parts, _AT_ONCE)):
        yield from _claims(some, lead, tokenizer)


def _parts(question: str, answer: str, tokenizer: Tokenizer, limit: int) -> Iterator[_Part]:
    said = read_markup(answer).text
    sentences = iter_sentences(answer)
    while some := list(islice(sentences, _AT_ONCE)):
        openers = [announcement_end(sentence.text, question) for sentence in some]
        bodies = [
            opener if 0 < opener < len(sentence.text) else body_start(sentence.text)
            for opener, sentence in zip(openers, some, strict=True)
        ]
        texts = [said[one.start + body : one.end] for one, body in zip(some, bodies, strict=True)]
        encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
        for sentence, opener, body, text, encoding in zip(
            some, openers, bodies, texts, encodings, strict=True
        ):
            start = sentence.start + body
            silent = (
                opener == len(sentence.text)
                or not any(map(str.isalnum, text))
                or claims_nothing(sentence.text)
                or find_denial(sentence.text) is not None
            )
            whole = [(0, len(text))]
            for left, right in (
                whole if silent else _cut(answer[start : sentence.end], encoding, limit)
            ):
                yield _Part(start + left, text[left:right], silent)


def _claims(parts: Sequence[_Part], lead: _Lead, tokenizer: Tokenizer) -> list[Claim]:
    leads = lead.before([part.start for part in parts])
    texts = [part.text for part in parts] + leads
    found = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [
        _claim(part, said, encoding, before)
        for part, said, encoding, before in zip(
            parts, leads, found[: len(parts)], found[len(parts) :], strict=True
        )
    ]


def _claim(part: _Part, lead: str, encoding: Encoding, before: Encoding) -> Claim:
    start, text, silent = part
    ids = np.array(encoding.ids, dtype=np.int64)
    offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    return Claim(
        start,
        start + len(text),
        text,
        lead,
        empty=silent or not len(ids),
        ids=ids,
        offsets=offsets + start,
        lead_ids=np.array(before.ids, dtype=np.int64),
    )


def _cut(text: str, encoding: Encoding, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the parts of `text`, with no white space at their borders."""
    offsets = encoding.offsets  # a new list each time
    for first, last in cut_tokens(encoding, limit):
        begin = offsets[first][0] if first else 0
        end = offsets[last][0] if last < len(offsets) else len(text)
        part = text[begin:end]
        if bare := part.strip():
            begin += part.index(bare[0])
            yield begin, begin + len(bare)


def cut_tokens(encoding: Encoding, limit: int) -> Sequence[tuple[int, int]]:
    """Cut the tokens in ranges of at most `limit` and of about one length.

    Cuts are between words where there is such a place in the last quarter before the limit.
    """
    count = len(encoding.ids)
    if count <= limit:
        return [(0, count)]
    words = encoding.word_ids
    cuts = [0]
    while (left := count - cuts[-1]) > limit:
        parts = -(-left // limit)
        wanted = cuts[-1] + -(-left // parts)
        nearest = range(wanted, max(cuts[-1] + 1, wanted - limit // 4) - 1, -1)
        cuts.append(next((i for i in nearest if words[i] != words[i - 1]), wanted))
    return list(pairwise([*cuts, count]))


class _Lead:
    """What leads to a claim: the end of the question and of what the answer says before.

    Of the tokens that there may be, the answer gets half, or what the question leaves over.
    """

    def __init__(self, question: str, answer: str, tokenizer: Tokenizer, limit: int) -> None:
        self._answer = answer
        self._tokenizer = tokenizer
        self._limit = limit
        self._reach = limit * _CHARACTERS
        self._question = " ".join(question[max(0, len(question) - self._reach) :].split())
        self._asked = tokenizer.encode(self._question, add_special_tokens=False)

    def before(self, starts: Sequence[int]) -> list[str]:
        """Join the lead of the claim at each start."""
        if not self._limit:
            return [""] * len(starts)
        texts = [
            " ".join(self._answer[max(0, start - self._reach) : start].split()) for start in starts
        ]
        room = max(self._limit // 2, self._limit - len(self._asked.ids))
        leads = []
        found = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        for text, encoding in zip(texts, found, strict=True):
            said, used = _end(text, encoding, room)
            asked, _ = _end(self._question, self._asked, self._limit - used)
            leads.append(f"{asked} {said}".strip())
        return leads


def _end(text: str, encoding: Encoding, room: int) -> tuple[str, int]:
    """Return as many of the text's last words as fit in `room` tokens, with their token count."""
    count = len(encoding.ids)
    if count <= room:
        return text, count
    words = encoding.word_ids
    first = next((i for i in range(count - room, count) if words[i] != words[i - 1]), count)
    return (text[encoding.offsets[first][0] :], count - first) if first < count else ("", 0)
