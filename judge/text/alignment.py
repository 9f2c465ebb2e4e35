"""How well each block of some documents fits a text, by the words that they share.

Tried on rows whose supporting sentences are known (ContractNLI, HotpotQA): to divide by the root of
the length, to compare words' beginnings and to spread to neighbours each found more of them; extra
weight for numbers, for names and for pairs of words found none.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_NEIGHBOUR = 0.15  # of a block's score that those right before and after it get
_SHORT = 8  # tokens; shorter blocks count as this long


class Alignment:
    """An index of the words of blocks.

    Attributes:
        places: the blocks that hold a word, by its stem.
    """

    def __init__(
        self, stems: Iterable[Iterable[str]], documents: Sequence[int], lengths: Sequence[int]
    ) -> None:
        """Index the blocks by their words, in the order of their documents."""
        places: dict[str, list[int]] = {}
        for index, block in enumerate(stems):
            for key in set(block):
                places.setdefault(key, []).append(index)
        self.places = {key: np.array(indices) for key, indices in places.items()}
        of = np.array(documents, dtype=np.int64)
        self._adjacent = of[1:] == of[:-1]
        self._count = len(of)
        self._divisor = np.sqrt(np.maximum(np.array(lengths, dtype=np.float64), _SHORT))

    def score(self, stems: Iterable[str]) -> NDArray[np.float64]:
        """Return each block's score for a text of these words, at least 0, shape (blocks,).

        The sum of the weights of the words shared, each counted once, over the root of the block's
        length; words that are rare in these blocks weigh most (idf). Blocks beside a fitting one
        fit a little too.
        """
        scores = np.zeros(self._count)
        for key in sorted(set(stems)):
            if (places := self.places.get(key)) is not None:
                scores[places] += np.log1p(self._count / len(places))
        spread = scores.copy()
        spread[1:] += _NEIGHBOUR * scores[:-1] * self._adjacent
        spread[:-1] += _NEIGHBOUR * scores[1:] * self._adjacent
        return np.asarray(spread / self._divisor)
