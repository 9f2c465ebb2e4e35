"""The claims of an answer, and the sentences of its context about them."""

import re
from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

from moonlynx.judge.text import body_start, claims_nothing, split_sentences

from ..perturb.source import Sentence, Source, content_of

SHORT = 5  # content words; a claim of no more says little without its question
_ASKED = 0.5  # what a word of the question weighs beside one of the claim
_LEAST_LENGTH = 8  # words; shorter sentences count as this long
_ADDS = 0.2  # of the claim's weight, that a second sentence must hold beyond the first
_HEADING = 4  # words; what is shorter is a heading or a label as a rule, and says nothing
_BARE = re.compile(r"\W*(?:yes|no|maybe)\W*", re.IGNORECASE)


class Claim(NamedTuple):
    """A sentence of an answer: its range, its text without a list mark in front, its content."""

    start: int
    end: int
    text: str
    content: frozenset[str]

    @property
    def is_short(self) -> bool:
        """Return whether the claim can be understood only with the question."""
        return len(self.content) <= SHORT

    @property
    def is_bare(self) -> bool:
        """Return whether the claim is a yes or no and nothing else."""
        return _BARE.fullmatch(self.text) is not None


class Evidence(NamedTuple):
    """Sentences of the context, in its order, about a claim."""

    sentences: tuple[Sentence, ...]  # one or two; none where nothing in the context does
    share: float  # of the claim that they hold, by weight
    lacks_figure: bool  # whether a figure of the claim is in none of them


def split_claims(answer: str) -> list[Claim]:
    """Return what the answer claims, sentence by sentence."""
    claims = []
    for start, end, text in split_sentences(answer):
        body = text[body_start(text) :]
        if not claims_nothing(body) and not body.endswith(":"):
            claims.append(Claim(start, end, body, content_of(body)))
    return claims


def find_evidence(said: frozenset[str], asked: frozenset[str], source: Source) -> Evidence:
    """Find the sentence about a claim, and another where that adds to it.

    `said` is the content of the claim, `asked` of the question where it is not clear without it.
    """
    wanted = asked - said
    figure = any(form[0].isdigit() for form in said)
    telling = [
        sentence
        for sentence in source.sentences
        if len(sentence.tokens) >= _HEADING
        and not sentence.text.endswith(":")
        and (not figure or any(form[0].isdigit() for form in sentence.content))
    ]
    candidates = telling or source.sentences

    def fit(sentence: Sentence) -> float:
        """Rate by the words shared, rare ones first, and against length (as Luna's alignment)."""
        shared = source.weight(said & sentence.content)
        shared += _ASKED * source.weight(wanted & sentence.content)
        return shared / sqrt(max(len(sentence.tokens), _LEAST_LENGTH))

    first = max(candidates, key=fit, default=None)
    if first is None or not fit(first):
        return Evidence((), 0.0, figure)
    found, whole = [first], source.weight(said)
    left = said - first.content
    second = max(candidates, key=lambda sentence: source.weight(left & sentence.content))
    if left and source.weight(left & second.content) >= _ADDS * whole:
        found.append(second)
        left -= second.content
    share = 1 - source.weight(left) / whole if whole else 0.0
    found.sort(key=lambda sentence: (sentence.document, sentence.start))
    return Evidence(tuple(found), share, any(form[0].isdigit() for form in left))


def stands_in(source: Source, text: str) -> bool:
    """Return whether the context holds the text, or all of its content in one sentence."""
    plain = _plain(text)
    return any(plain in _plain(document) for document in source.documents) or bool(
        source.holding(content_of(text))
    )


def holds(sentences: Iterable[Sentence], text: str) -> bool:
    """Return whether a sentence holds this text as whole words, whatever its letter case."""
    if not content_of(text):
        return False
    pattern = re.compile(rf"(?<![\w.,]){re.escape(_plain(text))}(?![\w]|[.,]\d)")
    return any(pattern.search(_plain(sentence.text)) for sentence in sentences)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
