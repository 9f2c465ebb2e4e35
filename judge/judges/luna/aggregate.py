"""From the encoder's logits to support: over windows, then a claim's tokens, then all claims.

The paper's form is the maximum over windows for each token (eq. 3), the minimum over tokens (eq. 4)
and one minus that (eq. 5). Plain min hangs on a single token; the others are to be chosen on
validation data.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...backends.encoder import TokenType
from ...contract.types import Finite, Record
from ...decision.lengths import log_odds
from ...text import content_tokens
from .windows import ClaimWindows

Support = Literal["claim", "min", "lowest-3"]
AnswerScore = Literal["max", "noisy-or", "noisy-or-root", "mean-top2"]
_LOWEST = 3
_LEAST = 1e-4  # support and its opposite are given to four decimals
_SHORT = 3  # characters of a token over which two marked runs are joined


class ClaimSupport(NamedTuple):
    """How far a claim is supported by its windows."""

    support: float  # P(supported) of the claim
    tokens: NDArray[np.float64]  # P(supported) of each of its tokens, shape (tokens,)
    window: int  # the window that supports it most
    # P(contradicted) of a claim without support, None from weights that cannot tell
    conflict: float | None = None


def probabilities(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the sigmoid of each logit."""
    # tanh, unlike exp, does not overflow.
    half: NDArray[np.float64] = 0.5 + 0.5 * np.tanh(logits.astype(np.float64) / 2)
    return half


def claim_support(
    tokens: NDArray[np.float32], claims: NDArray[np.float32], form: Support
) -> ClaimSupport:
    """Join a claim's windows.

    Args:
        tokens: logits of the claim's tokens, shape (windows, tokens), neither of them 0.
        claims: logits of the claim, shape (windows,).
        form: "claim" is the greatest claim logit's probability, "min" the least of the tokens'
            (each the maximum over windows), "lowest-3" the mean of the three least.
    """
    best = probabilities(tokens.max(axis=0))
    window = int(claims.argmax() if form == "claim" else tokens.mean(axis=1).argmax())
    if form == "claim":
        support = float(probabilities(claims).max())
    elif form == "min":
        support = float(best.min())
    else:
        support = float(np.sort(best)[:_LOWEST].mean())
    return ClaimSupport(support, best, window)


def blend(windows: ClaimSupport, closest: ClaimSupport, weight: float) -> ClaimSupport:
    """Mix what two readings of a claim found, in log-odds; `weight` is that of the second."""

    def mixed(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
        return probabilities((1 - weight) * log_odds(first) + weight * log_odds(second))

    conflict = windows.conflict
    if conflict is not None and closest.conflict is not None:
        conflict = float(mixed(conflict, closest.conflict))
    support = float(mixed(windows.support, closest.support))
    return ClaimSupport(support, mixed(windows.tokens, closest.tokens), windows.window, conflict)


def answer_score(claims: Sequence[float], form: AnswerScore) -> float:
    """Return the answer's raw score, in [0, 1], from its claims' (1 - support); of none it is 0.

    "max" is the worst claim's, "noisy-or" the probability that any is wrong if they were
    independent, and "mean-top2" the mean of the two worst, or the worst where there is one.
    "noisy-or-root" divides noisy-or's evidence, -log of the probability that none is wrong, by the
    root of the number of claims: they are not independent, and a long answer is no worse for its
    length.
    """
    if not claims:
        return 0.0
    scores = np.sort(np.array(claims, dtype=np.float64))[::-1]
    if form == "max":
        return float(scores[0])
    if form == "noisy-or":
        return float(1.0 - np.prod(1.0 - scores))
    if form == "noisy-or-root":
        return float(1.0 - np.prod(1.0 - scores) ** (len(scores) ** -0.5))
    return float(scores[:2].mean())


def unsupported_ranges(
    text: str, offsets: NDArray[np.int64], support: NDArray[np.float64], threshold: float
) -> list[tuple[int, int]]:
    """Return the ranges of an unsupported claim to mark, in order and without overlap.

    These are the runs of tokens below `threshold`, joined over a single token of a few letters and
    widened to word borders; where no token is below it, the word with the least support.

    Args:
        text: what `offsets` count in.
        offsets: the range of each token in `text`, shape (tokens, 2).
        support: P(supported) of each token, shape (tokens,), at least one.
        threshold: in [0, 1].
    """
    low = support < threshold
    if not low.any():
        low = np.arange(len(support)) == support.argmin()
    short = offsets[:, 1] - offsets[:, 0] <= _SHORT
    bridged = low[:-2] & low[2:] & short[1:-1]
    low[1:-1] |= bridged
    first, last = int(offsets[0, 0]), int(offsets[-1, 1])
    ranges: list[tuple[int, int]] = []
    for start, end in offsets[low].tolist():
        start, end = _word(text, start, end, first, last)
        if ranges and not any(map(str.isalnum, text[ranges[-1][1] : start])):
            start, end = ranges[-1][0], max(end, ranges.pop()[1])
        ranges.append((start, end))
    return ranges


def _word(text: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """Widen a token's range to the borders of the word it is from, within [first, last)."""
    if text[start].isalnum():
        while start > first and text[start - 1].isalnum():
            start -= 1
    if text[end - 1].isalnum():
        while end < last and text[end].isalnum():
            end += 1
    return start, end


class SupportModel(Record):
    """A regression over the encoder's logit and the words that no document holds.

    P(supported) = sigmoid(bias + the weights' product with the features). The default
    is the identity.
    """

    bias: Finite = 0.0  # of the regression
    logit: Finite = 1.0  # weight of the encoder's logit of support
    # of the share of the claim's content words that are nowhere in the documents
    new_words: Finite = 0.0
    new_number: Finite = 0.0  # of 1 where a number is nowhere in the documents
    new_name: Finite = 0.0  # of 1 where a name is nowhere in them

    def support(self, support: float, claim: ClaimWindows) -> float:
        """Return P(supported), in [0, 1], of a claim whose support by the encoder is known."""
        if self == SupportModel():
            return support
        weights = (self.bias, self.logit, self.new_words, self.new_number, self.new_name)
        return 0.5 + 0.5 * math.tanh(float(np.dot(weights, features(support, claim))) / 2)


def features(support: float, claim: ClaimWindows) -> NDArray[np.float64]:
    """Return the inputs of the regression, in the order of `SupportModel`'s fields, shape (5,)."""
    support = min(max(support, _LEAST), 1 - _LEAST)
    kinds = {kind for _, _, kind in claim.new}
    words = len(content_tokens(claim.claim.text))
    return np.array(
        [
            1.0,
            math.log(support / (1 - support)),
            len(claim.new) / words if words else 0.0,
            TokenType.NEW_NUMBER in kinds,
            TokenType.NEW_NAME in kinds,
        ],
        dtype=np.float64,
    )
