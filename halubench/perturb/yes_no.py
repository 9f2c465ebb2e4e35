"""Answers that open with yes or no: the opening flipped, with its explanation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from .negation import sentence_negations
from .position import AROUND_OPENING, OPENING, explanation, going_on
from .source import Sentence, Source
from .types import Draft, Edit

# A clause that the main one follows.
_SUBORDINATE = re.compile(
    r"(?:although|though|while|whereas|despite|because|since|if|when|unless|given|as|in spite"
    r"|even|due to|owing to|compared)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\b(?:which|who|whose|whom)\b[^,;]*$")  # no main clause
_CONTRARY = {"yes": "no", "no": "yes"}


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
    """Return the edits that negate the explanation and each sentence that continues it.

    None at all where one of them cannot be.
    """
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
    return Edit(edit.start + sentence.start, edit.end + sentence.start, edit.new)
