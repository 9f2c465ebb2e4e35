"""A context read once: its sentences, an index of their words, and what they say of a word.

Words are compared in a canonical form: number words as figures, months and weekdays by their first
three letters, other words without their commonest endings.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import fsum, log

from moonlynx.judge.text import Token, content_tokens, split_sentences, words

NUMBER_WORDS = tuple(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty""".split()  # noqa: SIM905 (a list takes a line each)
)
MONTHS = tuple(
    """January February March April May June July August September October November
    December""".split()  # noqa: SIM905
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_CANONICAL = {word: str(value) for value, word in enumerate(NUMBER_WORDS)}
_CANONICAL |= {name.lower(): name[:3].lower() for name in (*MONTHS, *WEEKDAYS)}
_CANONICAL |= {"sept": "sep", "percentage": "percent", "pct": "percent"}
_ENDING = re.compile(r"(?<=\w{3})(?:ies|ied|ing|ed|es|ly|s|e|y)$")
# A figure that is written as one: "1,2" and "05" are pieces of lists, codes and dates.
_FIGURE = re.compile(
    r"(?<![\w.,])(?:[1-9]\d{0,2}(?:,\d{3})+|0(?=\.)|[1-9]\d*)(?:\.\d+)?(?![\d,]*\d)"
)
_REACH = 4  # words on either side that count as a word's neighbours


@lru_cache(maxsize=100_000)
def canonical(form: str) -> str:
    """Return the form by which a token is compared with others."""
    if form in _CANONICAL:
        return _CANONICAL[form]
    return form if form[:1].isdigit() else _ENDING.sub("", form)


def content_of(text: str) -> frozenset[str]:
    """Return the canonical forms of the words that are no stop words."""
    return frozenset(canonical(token.form) for token in content_tokens(text))


@lru_cache(maxsize=100_000)
def _has_content(form: str) -> bool:
    return bool(content_tokens(form))


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document: its range there, its words and which of them have content."""

    document: int
    start: int
    end: int
    text: str

    @cached_property
    def _words(self) -> list[Token]:
        return list(words(self.text))

    @cached_property
    def tokens(self) -> list[Token]:
        """Return all words, in canonical form."""
        return [Token(start, end, canonical(form)) for start, end, form in self._words]

    @cached_property
    def content(self) -> frozenset[str]:
        """Return the canonical forms of the words that are no stop words."""
        return frozenset(canonical(form) for _, _, form in self._words if _has_content(form))

    def near(self, start: int, end: int) -> frozenset[str]:
        """Return the content words beside a range of the sentence, without those inside."""
        before = [token.form for token in self.tokens if token.end <= start][-_REACH:]
        after = [token.form for token in self.tokens if token.start >= end][:_REACH]
        return self.content.intersection((*before, *after))


class Source:
    """Documents, cut into sentences, with an index of their words."""

    def __init__(self, documents: Sequence[str]) -> None:
        self.documents = tuple(documents)
        self.sentences = [
            Sentence(number, *piece)
            for number, document in enumerate(documents)
            for piece in split_sentences(document)
        ]

    @cached_property
    def _holders(self) -> dict[str, set[int]]:
        """Return for each canonical form the sentences that hold it."""
        holders: dict[str, set[int]] = defaultdict(set)
        for index, sentence in enumerate(self.sentences):
            for token in sentence.tokens:
                holders[token.form].add(index)
        return dict(holders)

    @cached_property
    def lower_words(self) -> frozenset[str]:
        """Return the words that occur in lower case, and so are no names by themselves."""
        return frozenset(
            word for document in self.documents for word in re.findall(r"\b[a-z]+\b", document)
        )

    @cached_property
    def figures(self) -> list[tuple[str, float]]:
        """Return every figure as it is written, with its value, each once."""
        found = {
            match.group() for document in self.documents for match in _FIGURE.finditer(document)
        }
        return [(figure, float(figure.replace(",", ""))) for figure in sorted(found)]

    def holding(self, forms: Collection[str]) -> list[Sentence]:
        """Return the sentences that hold all of these canonical forms."""
        if not forms:
            return []
        found = set.intersection(*(self._holders.get(form, set()) for form in forms))
        return [self.sentences[index] for index in sorted(found)]

    def weight(self, forms: Collection[str]) -> float:
        """Sum how telling these forms are: rare ones in this context count more."""
        total = len(self.sentences) + 1
        # Exact, so that it does not depend on the order of a set.
        return fsum(log(1 + total / (1 + len(self._holders.get(form, ())))) for form in forms)

    def coverage(self, content: frozenset[str], sentence: Sentence) -> float:
        """Return the weighted share, from 0 to 1, of these forms that the sentence holds."""
        whole = self.weight(content)
        return self.weight(content & sentence.content) / whole if whole else 0.0

    def best(self, content: frozenset[str]) -> Sentence | None:
        """Return the sentence that holds most of these forms, by weight; None if none holds any."""
        scores: dict[int, float] = defaultdict(float)
        for form in sorted(content):
            for index in self._holders.get(form, ()):
                scores[index] += self.weight((form,))
        if not scores:
            return None
        return self.sentences[max(scores, key=lambda index: (scores[index], -index))]


@lru_cache(maxsize=64)
def read(documents: tuple[str, ...]) -> Source:
    """Read documents, or a text as one document; the last 64 read are kept."""
    return Source(documents)


def sentence_at(text: str, position: int) -> Sentence | None:
    """Return the sentence of `text` that holds the position."""
    sentences = read((text,)).sentences
    return next((one for one in sentences if one.start <= position < one.end), None)
