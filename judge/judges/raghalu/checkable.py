"""Tier 1: whether a sentence holds anything that documents could support or contradict.

A logistic regression over words, pairs of words and parts of words, weighted by tf-idf; the paper
(section 3.1) uses a second DeBERTa, as `tier_one` does. Training and judging read texts by `terms`
and nothing else.
"""

import math
import re
from collections import Counter
from itertools import pairwise
from typing import Annotated, NamedTuple

from pydantic import Field

from ...contract.types import Finite, Probability, Record
from ...text import body_start

_LONGEST = 300  # characters; nothing longer claims nothing
_WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
_DIGITS = re.compile(r"\d+")
_PARTS = (3, 4, 5)  # letters


class Term(NamedTuple):
    """A term's inverse document frequency and its weight."""

    idf: Finite
    weight: Finite


class CheckableModel(Record):
    """The regression: P(NO-INFO) = sigmoid(bias + weights x tf-idf vector of unit length)."""

    bias: Finite  # of the regression
    threshold: Probability  # a sentence is NO-INFO where P(NO-INFO) reaches it
    # those that are known; others are as if they were not there
    terms: Annotated[dict[str, Term], Field(min_length=1)]

    def probability(self, sentence: str) -> float:
        """Return P(NO-INFO), in [0, 1]; that of a sentence without a letter or digit is 1."""
        body = sentence[body_start(sentence) :].strip()
        if not any(map(str.isalnum, body)):
            return 1.0
        if len(body) > _LONGEST:
            return 0.0
        length = product = 0.0
        for term, count in Counter(terms(body)).items():
            if known := self.terms.get(term):
                value = (1 + math.log(count)) * known.idf
                length += value * value
                product += value * known.weight
        logit = self.bias + (product / math.sqrt(length) if length else 0.0)
        return 0.5 + 0.5 * math.tanh(logit / 2)

    def claims_nothing(self, sentence: str) -> bool:
        """Return whether the sentence is NO-INFO."""
        return self.probability(sentence) >= self.threshold


def terms(text: str) -> list[str]:
    """Return the terms of a text: words and marks, pairs of them, and parts of words.

    Case is folded and every number is 0, so that it counts that there is one and not which.
    """
    folded = _DIGITS.sub("0", text.lower().replace("’", "'"))
    found = _WORD.findall(folded)
    marked = ["^", *found, "$"]
    pairs = [f"{one} {other}" for one, other in pairwise(marked)]
    parts = [
        f"#{padded[start : start + size]}"
        for padded in (f"_{word}_" for word in found)
        for size in _PARTS
        for start in range(len(padded) - size + 1)
    ]
    return found + pairs + parts
