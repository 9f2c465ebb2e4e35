"""Answers that open with yes or no: the opening turned round, with its explanation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from .negation import sentence_negations
from .source import Sentence, Source, read
from .types import Draft, Edit

_OPENING = re.compile(r"\s*(?P<word>yes|no)(?=[,.:;!]|\s*$|\s*[—–]\s)", re.IGNORECASE)
_AROUND = " ,.:;!—–\n"
# A clause behind which the main one comes.
_SUBORDINATE = re.compile(
    r"(?:although|though|while|whereas|despite|because|since|if|when|unless|given|as|in spite"
    r"|even|due to|owing to|compared)\b",
    re.IGNORECASE,
)
_CONTRARY = {"yes": "no", "no": "yes"}


def yes_no(text: str, source: Source, rng: Random) -> Iterator[Draft]:  # noqa: ARG001
    """Flip an opening yes or no, together with its explanation.

    Where the explanation cannot be turned round, it would speak against what it explains.
    """
    opening = _OPENING.match(text)
    if not opening:
        return
    old = opening["word"]
    new = _CONTRARY[old.lower()]
    if old[0].isupper():
        new = new.upper() if old.isupper() and len(old) > 1 else new.capitalize()
    first = Edit(*opening.span("word"), new)
    if not text[opening.end() :].strip(_AROUND):
        yield Draft("yes-no", (first,))
    elif second := _turned_round(text, opening.end()):
        yield Draft("yes-no", (first, second))


def _turned_round(text: str, start: int) -> Edit | None:
    """Give the edit that turns the first sentence behind the opening round, by its first verb."""
    rest = text[start:].lstrip(_AROUND)
    sentences = read((rest,)).sentences
    if not sentences or _SUBORDINATE.match(sentences[0].text):
        return None
    body = Sentence(0, 0, len(sentences[0].text), sentences[0].text)
    shift = len(text) - len(rest) + sentences[0].start
    edit = min(sentence_negations(body), default=None)
    return edit and Edit(edit.start + shift, edit.end + shift, edit.new)
