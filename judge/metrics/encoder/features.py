"""From a window to the numbers that a head weighs: pooled states, counts, and hashed words."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ...backends.encoder import Input, TokenType
from ...judges.luna.inputs import find_specials
from ...judges.luna.novelty import claim_types, new_words
from ...judges.raghalu.checkable import terms
from .parts import Part, stems
from .states import Floats, StateEncoder

HALF = 1 << 18  # at a quarter of it, words in one bucket with others cost toxicity a point of AUROC
_KEPT = 256  # windows, of 12 KB each
_AT_ONCE = 250  # tokens of a text whose runs are read
_PIECES = 3  # tokens of a long word
BUCKETS = 2 * HALF
"""Words and pairs of them fall into the first half, parts of words into the second."""


class Words(NamedTuple):
    """The words of a text, each pair of them and their parts, hashed.

    Attributes:
        buckets: which there are, in [0, BUCKETS), ascending, shape (n,).
        counts: 1 + log of how often, shape (n,).
    """

    buckets: NDArray[np.int64]
    counts: Floats


def unit_length(words: Words, idf: Floats) -> Floats:
    """Weigh words by their buckets' idf, shape (BUCKETS,); either half gets unit length."""
    values = words.counts * idf[words.buckets]
    middle = int(np.searchsorted(words.buckets, HALF))
    for part in (values[:middle], values[middle:]):
        part /= float(np.sqrt((part * part).sum())) or 1.0
    return values


class FeatureReader:
    """Reads windows by one encoder."""

    def __init__(self, encoder: StateEncoder, tokenizer: Tokenizer) -> None:
        """Join the parts; `tokenizer` is as Luna's `load_tokenizer` returns it."""
        self._encoder = encoder
        self._tokenizer = tokenizer
        self._specials = find_specials(tokenizer)
        self.version = encoder.version
        self._read = lru_cache(maxsize=_KEPT)(self._read_anew)

    def __call__(self, part: Part) -> tuple[Floats, int]:
        """Return what `_read_anew` does; heads that read one input after the other share a pass."""
        return self._read(part)

    def _read_anew(self, part: Part) -> tuple[Floats, int]:
        """Return a window's features, and how many tokens were read.

        Of a text, of each layer the mean and the greatest over its tokens. Of a pair, of each layer
        the difference and the product of both means, then the first token's last state, Luna's own
        logit of support, and the counts.
        """
        first = self._tokenizer.encode(part.premise, add_special_tokens=False).ids
        ids, types = self._input(first)
        if not part.claim:
            layers = self._encoder((ids, types)).layers
            own = layers[:, 1:-1] if first else layers
            return np.stack([own.mean(axis=1), own.max(axis=1)]).ravel(), len(ids)
        second = self._tokenizer.encode(part.claim, add_special_tokens=False)
        offsets = np.array(second.offsets, dtype=np.int64).reshape(-1, 2)
        new = claim_types(new_words(part.claim, stems(part.premise)), offsets)
        start = len(ids)
        ids = np.concatenate([ids, second.ids, [self._specials.sep]]).astype(np.int64)
        types = np.concatenate([types, new, [TokenType.CLAIM]])
        layers, claim = self._encoder((ids, types))
        one = layers[:, 1 : max(2, start - 1)].mean(axis=1)
        other = layers[:, start : max(start + 1, len(ids) - 1)].mean(axis=1)
        numbers = [
            np.abs(one - other).ravel(),
            (one * other).ravel(),
            layers[-1, 0],
            np.array([claim, *part.counts], dtype=np.float32),
        ]
        return np.concatenate(numbers), len(ids)

    def _input(self, ids: Sequence[int]) -> Input:
        """Put the tokens of a text between the special ones."""
        cls, sep = self._specials
        whole = np.array([cls, *ids, sep], dtype=np.int64)
        return whole, np.full(len(whole), TokenType.BEFORE, dtype=np.int64)

    def read_runs(
        self, text: str, runs: Sequence[tuple[int, int]]
    ) -> tuple[list[tuple[int, int]], Floats, int]:
        """Return the runs of words that have tokens, their numbers, and how many tokens were read.

        Numbers have the shape (runs, n): of each layer the mean over the run's tokens, and the
        states right before and after it; then five of how it is written. A text too long for the
        encoder is read in parts.
        """
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        starts, ends = np.array(encoded.offsets, dtype=np.int64).reshape(-1, 2).T
        parts: dict[int, list[tuple[tuple[int, int], NDArray[np.int64]]]] = {}
        for run in runs:
            own = np.flatnonzero((starts < run[1]) & (ends > run[0]))
            if len(own):
                parts.setdefault(int(own[0]) // _AT_ONCE, []).append((run, own))
        found, numbers, read = [], [], 0
        for number, inside in parts.items():
            first = number * _AT_ONCE
            ids, types = self._input(encoded.ids[first : first + _AT_ONCE])
            layers = self._encoder((ids, types)).layers
            read += len(ids)
            for run, own in inside:
                at = own[own < first + _AT_ONCE] - first + 1
                states = layers[:, at].mean(axis=1), layers[:, at[0] - 1], layers[:, at[-1] + 1]
                found.append(run)
                written = _written(text, *run, len(own))
                numbers.append(np.concatenate([*(each.ravel() for each in states), written]))
        return found, np.array(numbers, dtype=np.float32), read


def _written(text: str, start: int, end: int, tokens: int) -> Floats:
    run = text[start:end]
    each = tokens / len(run.split()) / _PIECES
    flags = start == 0, " " in run, run.isupper(), each, run.endswith("'s")
    return np.array(flags, dtype=np.float32)


@lru_cache(maxsize=_KEPT)
def hash_words(text: str) -> Words:
    """Hash a text's terms: words and marks, pairs of them, and parts of words; digits are alike."""
    counts: Counter[int] = Counter()
    for term, count in Counter(terms(text)).items():
        is_part = len(term) > 1 and term.startswith("#")
        counts[crc32(term.encode("utf-8")) % HALF + HALF * is_part] += count
    buckets = sorted(counts)
    values = [1 + math.log(counts[bucket]) for bucket in buckets]
    return Words(np.array(buckets, dtype=np.int64), np.array(values, dtype=np.float32))
