"""From the encoder's support of a claim and its new words to P(supported)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...backends.encoder import TokenType
from ...contract.types import Finite, Record
from ...text import content_tokens
from .windows import ClaimWindows

_LEAST = 1e-4  # support and its opposite are given to four decimals


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
