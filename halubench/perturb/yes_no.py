"""Answers that open with yes or no: the opening turned round, with its explanation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from .negation import sentence_negations
from .opposites import comparatives
from .source import Sentence, Source, read
from .types import Draft, Edit

_OPENING = re.compile(r"\s*(?P<word>yes|no)(?=[,.:;!]|\s*$|\s*[—–]\s)", re.IGNORECASE)
_CONTRARY = {"yes": "no", "no": "yes"}


def yes_no(text: str, source: Source, rng: Random) -> Iterator[Draft]:
    """Flip an opening yes or no, together with its explanation where that can be turned round."""
    opening = _OPENING.match(text)
    if not opening:
        return
    old = opening["word"]
    new = _CONTRARY[old.lower()]
    if old[0].isupper():
        new = new.upper() if old.isupper() and len(old) > 1 else new.capitalize()
    first = Edit(*opening.span("word"), new)
    explanations = list(_explanations(text, opening.end(), source, rng))
    if not explanations:
        yield Draft("yes-no", (first,))
    for second in explanations:
        yield Draft("yes-no", (first, second))


def _explanations(text: str, start: int, source: Source, rng: Random) -> Iterator[Edit]:
    """Give edits that turn round the first sentence behind the opening."""
    rest = text[start:].lstrip(" ,.:;!—–\n")
    sentences = read((rest,)).sentences
    if not sentences:
        return
    shift = len(text) - len(rest) + sentences[0].start
    body = Sentence(0, 0, len(sentences[0].text), sentences[0].text)
    edits = list(sentence_negations(body))[:1]
    if not edits:
        edits = [draft.edits[0] for draft in comparatives(body.text, source, rng)][:1]
    for edit in edits:
        yield Edit(edit.start + shift, edit.end + shift, edit.new)
