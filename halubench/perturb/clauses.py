"""Invented clauses that no document is likely to hold, and flipped openings of yes and no."""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from random import Random

from .entities import names_of_type
from .negation import sentence_negations
from .position import AROUND_OPENING, OPENING, explanation, going_on
from .source import MONTHS, WEEKDAYS, Sentence, Source, read
from .types import Draft, Edit
from .words import FORMS, has_verb

# A clause that the main one follows.
_SUBORDINATE = re.compile(
    r"(?:although|though|while|whereas|despite|because|since|if|when|unless|given|as|in spite"
    r"|even|due to|owing to|compared)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\b(?:which|who|whose|whom)\b[^,;]*$")  # no main clause
_CONTRARY = {"yes": "no", "no": "yes"}

# By the tense that they go with; {noun} is of the sentence, {name} of its context, the rest drawn.
_TEMPLATES: Mapping[str, list[str]] = json.loads(
    files(__package__).joinpath("clauses.json").read_text(encoding="utf-8")
)
_SMALL = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "eleven", "twelve")
_COUNTS = ("200", "350", "480", "600", "1,200", "2,500", "7,000", "12,000")
_MONEY = ("$15,000", "$40,000", "$250,000", "$700,000", "$3 million", "$60 million")
_END = re.compile(r"(?<=[\w)\]”\"’'%])(?P<stop>[.!]?)(?P<rest>[\"”]?(?:\s*\[\d+\])*\s*)$")
_NOUN = re.compile(
    r"\b(?:the|an?|its|their|his|her|this)\s"
    r"(?P<noun>(?!week|month|year|time|days?\b|number|fact|case|same|start)[a-z]{4,})"
    r"(?=\s(?:is|was|has|had|will|can|of|in|at|on|for|by|from|to|that|which|and)\b|[,.;])"
)
_IS_PAST = re.compile(r"\b(?:was|were|had|did)\b")
_MOST_CLAUSES = 4
_SHORT = 4  # words of a clause at least
_NAMED = 0.25  # share of invented clauses that name a person of the context


def yes_no(text: str, source: Source, rng: Random) -> Iterator[Draft]:  # noqa: ARG001
    """Flip an opening yes or no, together with its explanation and what continues it.

    What cannot be negated would contradict the rest, so all is left as it is.
    """
    opening = OPENING.match(text)
    if not opening or opening["word"].lower() not in _CONTRARY:
        return
    old = opening["word"]
    new = _CONTRARY[old.lower()]
    if old[0].isupper():
        new = new.upper() if old.isupper() and len(old) > 1 else new.capitalize()
    first = Edit(*opening.span("word"), new)
    if not text[opening.end() :].strip(AROUND_OPENING):
        yield Draft("yes-no", (first,))
    elif rest := _turned_round(text):
        yield Draft("yes-no", (first, *rest))


def _turned_round(text: str) -> list[Edit]:
    """Return the edits that negate the explanation and all that continues it; else none."""
    body = explanation(text)
    if body is None:
        return []
    edits = [_turned(sentence) for sentence in (body, *going_on(text, body.start))]
    return [] if None in edits else [edit for edit in edits if edit]


def _turned(sentence: Sentence) -> Edit | None:
    """Return the edit of the text that negates its sentence, by the first verb."""
    edit = min(sentence_negations(sentence), default=None)
    if edit is None or _SUBORDINATE.match(sentence.text):
        return None
    if _ASIDE.search(sentence.text[: edit.start]):
        return None
    return edit.moved(sentence.start)


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
    tense = "past" if _is_past(sentence.text) else "present"
    fitting = [
        template
        for template in _TEMPLATES["any tense"] + _TEMPLATES[tense]
        if ("{name}" in template) == named and (nouns or "{noun}" not in template)
    ]
    for template in rng.sample(fitting, min(_MOST_CLAUSES, len(fitting))):
        noun, name = rng.choice(nouns or [""]), rng.choice(people or [""])
        yield _fill(template, noun, name, rng)


def _is_past(sentence: str) -> bool:
    tenses = (FORMS[word].tense for word in sentence.split() if word in FORMS)
    return bool(_IS_PAST.search(sentence)) or "past" in tenses


def _fill(template: str, noun: str, name: str, rng: Random) -> str:
    return template.format(
        noun=noun,
        name=name,
        year=rng.randint(1961, 2021),
        future=rng.randint(2027, 2035),
        month=rng.choice(MONTHS),
        weekday=rng.choice(WEEKDAYS),
        percent=rng.randint(11, 89),
        small=rng.choice(_SMALL),
        count=rng.choice(_COUNTS),
        money=rng.choice(_MONEY),
        age=rng.choice((40, 50, 55, 65, 70)),
    )
