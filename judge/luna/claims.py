"""Cut an answer into claims: its sentences, the long ones in parts, each with what leads to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from ..text import body_start, claims_nothing, split_sentences
from .reading import Limits

_CHARACTERS = 16  # of text for each token of lead: what is further back is cut unseen


class Claim(NamedTuple):
    """A sentence of the answer, or a part of one that is too long to be read at once.

    Attributes:
        start, end: its range in the answer, without a list mark in front.
        text: answer[start:end].
        lead: the question and what the answer says before, at most `Limits.lead` tokens.
        empty: its sentence claims nothing that documents could support; it is not read, nor cut.
        ids: the tokens of `text`, shape (tokens,).
        offsets: the range of each token in the answer, shape (tokens, 2).
        lead_ids: the tokens of `lead`, shape (lead tokens,).
    """

    start: int
    end: int
    text: str
    lead: str
    empty: bool
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lead_ids: NDArray[np.int64]


def split_claims(question: str, answer: str, tokenizer: Tokenizer, limits: Limits) -> list[Claim]:
    """Cut the answer into claims, in order and without overlap.

    A sentence of more than `limits.claim` tokens is cut between words into parts of about the same
    length (the paper's footnote 4).
    """
    ranges = []
    for start, _, sentence in split_sentences(answer):
        body = body_start(sentence)
        ranges.append((start + body, sentence[body:]))
    whole = tokenizer.encode_batch([text for _, text in ranges], add_special_tokens=False)
    parts = []
    empty: list[bool] = []
    for (start, text), encoding in zip(ranges, whole, strict=True):
        silent = claims_nothing(text)
        cut = [(0, len(text))] if silent else _cut(text, encoding, limits.claim)
        parts += [(start + left, text[left:right]) for left, right in cut]
        empty += [silent] * (len(parts) - len(empty))
    leads = [_lead(question, answer[:start], tokenizer, limits.lead) for start, _ in parts]
    texts = [text for _, text in parts] + leads
    found = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [
        Claim(
            start,
            start + len(text),
            text,
            lead,
            empty=silent or not encoding.ids,
            ids=np.array(encoding.ids, dtype=np.int64),
            offsets=np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2) + start,
            lead_ids=np.array(before.ids, dtype=np.int64),
        )
        for (start, text), silent, lead, encoding, before in zip(
            parts, empty, leads, found[: len(parts)], found[len(parts) :], strict=True
        )
    ]


def _cut(text: str, encoding: Encoding, limit: int) -> Iterator[tuple[int, int]]:
    """Give the ranges of the parts of `text`, with no white space at their borders."""
    for first, last in cut_tokens(encoding, limit):
        begin = encoding.offsets[first][0] if first else 0
        end = encoding.offsets[last][0] if last < len(encoding.ids) else len(text)
        part = text[begin:end]
        if bare := part.strip():
            begin += part.index(bare[0])
            yield begin, begin + len(bare)


def cut_tokens(encoding: Encoding, limit: int) -> Sequence[tuple[int, int]]:
    """Cut the tokens in ranges of at most `limit` and of about one length.

    Cuts lie between words where there is such a place in the last quarter before the limit.
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


def _lead(question: str, before: str, tokenizer: Tokenizer, limit: int) -> str:
    """Join the end of the question and of what the answer says before the claim.

    Of the tokens that there may be, the answer gets half, or what the question leaves over.
    """
    if not limit:
        return ""
    question, before = (
        " ".join(text[-limit * _CHARACTERS :].split()) for text in (question, before)
    )
    asked = tokenizer.encode(question, add_special_tokens=False)
    said = tokenizer.encode(before, add_special_tokens=False)
    before, used = _end(before, said, max(limit // 2, limit - len(asked.ids)))
    question, _ = _end(question, asked, limit - used)
    return f"{question} {before}".strip()


def _end(text: str, encoding: Encoding, room: int) -> tuple[str, int]:
    """Give as many of the text's last words as have `room` tokens, and how many these are."""
    count = len(encoding.ids)
    if count <= room:
        return text, count
    words = encoding.word_ids
    first = next((i for i in range(count - room, count) if words[i] != words[i - 1]), count)
    return (text[encoding.offsets[first][0] :], count - first) if first < count else ("", 0)
