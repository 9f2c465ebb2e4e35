"""How well each block of a context fits a text, by the words they share: what is worth reading.

Tried on rows whose supporting sentences are known (ContractNLI, HotpotQA): to divide by the root of
the length, to compare words' beginnings and to spread to neighbours each found more of them; extra
weight for numbers, for names and for pairs of words found none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...text import content_tokens
from .blocks import Block, stem

_NEIGHBOUR = 0.15  # of a block's score that those right before and after it get
_SHORT = 8  # tokens; shorter blocks count as this long


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
