"""Clauses added to a sentence: invented ones, and true ones so that length tells no label."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from .bank import ANY_TENSE, PAST, PRESENT, fill
from .entities import NO_NAMES, names_of_type
from .source import Sentence, Source, read
from .types import Draft, Edit
from .verbs import FORMS, has_verb

_END = re.compile(r"(?<=[\w)\]”\"’'%])(?P<stop>[.!]?)(?P<rest>[\"”]?(?:\s*\[\d+\])*\s*)$")
_NOUN = re.compile(
    r"\b(?:the|an?|its|their|his|her|this)\s"
    r"(?P<noun>(?!week|month|year|time|days?\b|number|fact|case|same|start)[a-z]{4,})"
    r"(?=\s(?:is|was|has|had|will|can|of|in|at|on|for|by|from|to|that|which|and)\b|[,.;])"
)
_IS_PAST = re.compile(r"\b(?:was|were|had|did)\b")
_MOST_CLAUSES = 4
_NAMED = 0.25  # share of invented clauses that name a person of the context


def invented_clauses(text: str, source: Source, rng: Random) -> Iterator[Draft]:
    """Yield drafts that add a clause of the bank to a sentence that states something."""
    for sentence in read((text,)).sentences:
        end = _END.search(sentence.text)
        if end and _states_something(sentence.text):
            for clause in _clauses(sentence, source, rng):
                place = sentence.start + end.start()
                yield Draft("invented-clause", (Edit(place, place, clause),))


def _states_something(sentence: str) -> bool:
    """Return whether this is a clause: at least four words, one of them a finite verb."""
    plain = len(sentence.split()) >= _SHORT and sentence[-1] not in "?:;" and "http" not in sentence
    return plain and has_verb(sentence)


def _clauses(sentence: Sentence, source: Source, rng: Random) -> Iterator[str]:
    """Yield clauses whose slots this sentence and its context can fill."""
    nouns = [match["noun"] for match in _NOUN.finditer(sentence.text)]
    people = [name for name in names_of_type("person", source) if name not in sentence.text]
    named = bool(people) and rng.random() < _NAMED
    fitting = [
        template
        for template in (*ANY_TENSE, *(PAST if _is_past(sentence.text) else PRESENT))
        if ("{name}" in template) == named and (nouns or "{noun}" not in template)
    ]
    for template in rng.sample(fitting, min(_MOST_CLAUSES, len(fitting))):
        noun, name = rng.choice(nouns or [""]), rng.choice(people or [""])
        yield fill(template, noun, name, rng)


def _is_past(sentence: str) -> bool:
    tenses = (FORMS[word].tense for word in sentence.split() if word in FORMS)
    return bool(_IS_PAST.search(sentence)) or "past" in tenses


_NO_START = re.compile(
    r"(?:it|he|she|they|we|i|you|this|that|these|those|his|her|its|their|our|my|such|but|and|or|so"
    r"|however|also|then|there|here|thus|therefore|moreover|another|both|if|when|while|because"
    r"|please|click|passage)\b",
    re.IGNORECASE,
)
_ADVERBIAL = re.compile(r"(?:ed|ing|ly)$")
_LONG, _SHORT = 14, 4  # words of a clause worth adding
_SHORTEST = 4  # how many of the shortest clauses are drawn from: invented ones are short, too


def add_supported_clause(text: str, context: Sequence[str], rng: Random) -> str | None:
    """Lengthen a text by a short sentence of its context, so that length does not tell the label.

    The counterpart of `invented-clause`: what is added is in the context word for word.

    Returns:
        The longer text, or None where the text has no plain end or the context no such sentence.
    """
    end = _END.search(text)
    if not end or not _states_something(text.strip()):
        return None
    source = read(tuple(context))
    said = {token.form for sentence in read((text,)).sentences for token in sentence.tokens}
    clauses = [
        clause
        for sentence in source.sentences
        if (clause := _as_clause(sentence, source)) and len(sentence.content - said) >= 2
    ]
    if not clauses:
        return None
    clause = rng.choice(sorted(clauses, key=len)[:_SHORTEST])
    joined = rng.choice((", and ", "; ", ", while ")) + clause
    return text[: end.start()] + joined + end["stop"] + end["rest"]


def _as_clause(sentence: Sentence, source: Source) -> str | None:
    """Return the sentence as a clause that can follow another, None where it cannot."""
    text = sentence.text
    if not (_SHORT <= len(text.split()) <= _LONG and text.endswith(".") and text[0].isupper()):
        return None
    if _NO_START.match(text) or re.search(r"[\"“”();:|\[\]]|http", text) or not has_verb(text):
        return None
    body = text.rstrip(".")
    opening = body.split()[0].rstrip(",").lower()
    plain = opening in NO_NAMES or opening in source.lower_words or _ADVERBIAL.search(opening)
    return body[0].lower() + body[1:] if plain else body
