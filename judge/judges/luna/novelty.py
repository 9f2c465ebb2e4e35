"""The words of a claim that no document holds, as an input of the encoder.

A window shows it a part of the documents, and it reads without capitals: it could not know
else that a number or a name is nowhere in them. An exact-match feature, as in DrQA (Chen et al.
2017, section 3.2), given as token types.
"""

from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from ...backends.encoder import TokenType
from ...text import content_tokens, stem

_REPLIES = ("yes", "no")  # they answer the question; that they are new to the documents is nothing
NewWord = tuple[int, int, TokenType]
"""The range of a word in its claim, and what kind of word it is."""


def new_words(claim: str, held: AbstractSet[str]) -> tuple[NewWord, ...]:
    """Return the claim's content words whose stem is none of `held`, the documents' stems."""
    found = []
    for index, token in enumerate(content_tokens(claim)):
        if stem(token.form) in held or (index == 0 and token.form in _REPLIES):
            continue
        kind = TokenType.NEW_WORD
        if token.form[0].isdigit():
            kind = TokenType.NEW_NUMBER
        elif index and claim[token.start].isupper():  # a first word has a capital whatever it is
            kind = TokenType.NEW_NAME
        found.append((token.start, token.end, kind))
    return tuple(found)


def claim_types(new: tuple[NewWord, ...], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the type of each claim token, of offsets of shape (tokens, 2) in the claim."""
    types = np.full(len(offsets), TokenType.CLAIM, dtype=np.int64)
    for start, end, kind in new:
        types[(offsets[:, 0] < end) & (start < offsets[:, 1])] = kind
    return types
