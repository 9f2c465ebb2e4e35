"""Two sentences fused: the head of one continues as another of the context does."""

import re
from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import NamedTuple

from .source import Sentence, Source, read
from .types import Draft, Edit
from .words import has_verb

_JOINT = re.compile(
    r"\s(?P<word>because of|due to|because|by|after|before|during|from|with|for|in|on|at|as|through"
    r"|against|under|near|while|since)\s(?P<next>[\w$€£\"“]+)"
)
_DETERMINER = re.compile(
    r"(?:the|an?|its|their|his|her|this|that|these|those|some|all)$", re.IGNORECASE
)
_CLAUSE_JOINTS = frozenset({"because", "while", "since", "after", "before", "as"})
# Behind these, a tail without a name or figure says too little to be false.
_WEAK_JOINTS = frozenset(
    {"in", "on", "at", "as", "for", "with", "from", "through", "under", "near"}
)
_TELLING = re.compile(r"[A-Z\d]")
_LONGEST_TAIL, _LEAST_TAIL, _LEAST_HEAD = 14, 2, 4  # words
_TRIES = 6
_SHARED = 0.34  # of a head's or tail's content


class Tail(NamedTuple):
    """The end of a sentence from a joint on, its final stop left out."""

    joint: str
    opening: str
    text: str
    sentence: Sentence


def fusions(text: str, source: Source, rng: Random) -> Iterator[Draft]:
    """Yield drafts that end a sentence as another of the context ends, after the same joint."""
    tails = _tails(source)
    for sentence in read((text,)).sentences:
        own = list(_ends(sentence))
        choices = [
            (end, tail)
            for end in own
            for tail in tails.get((end.joint, end.opening), ())
            if _is_false_together(sentence, end, tail, source)
        ]
        for end, tail in rng.sample(choices, min(_TRIES, len(choices))):
            start = sentence.start + sentence.text.rindex(end.text)
            yield Draft("fused", (Edit(start, start + len(end.text), tail.text),))


@lru_cache(maxsize=64)
def _tails(source: Source) -> dict[tuple[str, str], list[Tail]]:
    """Sort the tails of the context by their joint and by what kind of word follows it."""
    found: dict[tuple[str, str], list[Tail]] = {}
    for sentence in source.sentences:
        for tail in _ends(sentence):
            found.setdefault((tail.joint, tail.opening), []).append(tail)
    return found


def _ends(sentence: Sentence) -> Iterator[Tail]:
    """Yield the tails of a sentence behind a head that is a clause by itself."""
    text = sentence.text
    if text[-1] not in ".!" or len(text) > 400:
        return
    for match in _JOINT.finditer(text):
        tail = text[match.start() + 1 :].rstrip(".!")
        head = text[: match.start()]
        words = tail.count(" ") + 1
        plain = not re.search(r"[;:()\[\]\"“”|]|,\s", tail)
        if (
            plain
            and _LEAST_TAIL <= words <= _LONGEST_TAIL
            and head.count(" ") + 1 >= _LEAST_HEAD
            and has_verb(head)
            and (match["word"] not in _WEAK_JOINTS or _TELLING.search(tail))
            and (match["word"] not in _CLAUSE_JOINTS or has_verb(tail))
        ):
            yield Tail(match["word"], _opening(match["next"]), tail, sentence)


def _opening(word: str) -> str:
    """Class the first word behind a joint: what follows must be of one kind to fit."""
    if _DETERMINER.match(word):
        return "determiner"
    if word[0].isdigit() or word[0] in "$€£":
        return "figure"
    if word[0].isupper():
        return "name"
    return "gerund" if word.endswith("ing") else "other"


def _is_false_together(sentence: Sentence, own: Tail, tail: Tail, source: Source) -> bool:
    """Return whether head and tail have little in common with each other's own sentences."""
    end_of_head = sentence.text.rindex(own.text)
    tail_content = Sentence(0, 0, 0, tail.text).content
    own_content = Sentence(0, 0, 0, own.text).content
    head = Sentence(0, 0, 0, sentence.text[:end_of_head]).content
    if len(tail_content) < 2 or tail_content & (own_content | head):
        return False
    return all(
        source.coverage(head, holder) < _SHARED
        for holder in (tail.sentence, *source.holding(tail_content))
    )
