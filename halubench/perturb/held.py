"""Whether the context holds what a change would falsify.

An answer may say more than its context does: advice, an outlook, a figure of the whole paper. What
the context neither holds nor denies cannot be shown to be wrong, changed or not.
"""

import re

from moonlynx.judge.text import words

from .source import Sentence, Source, canonical, sentence_at
from .types import Draft

_ADDED = frozenset({"invented-clause", "fused"})  # with nothing of the text's own changed
_VALUES = frozenset({"number", "unit", "date", "entity", "list-swap"})
_HELD = 0.18  # of a sentence's content, by weight, in one sentence of the context
_CLEARLY_HELD = 0.25  # the same, of a sentence whose value may have been computed
_SHORT = 6  # content words beside a value; it is what was asked, and may have been computed
_OUTLOOK = re.compile(
    r"\b(?:further|future|additional|more)\s(?:[\w-]+,?\s(?:and\s)?){0,6}?(?:research|stud(?:y|ies)|work"
    r"|investigations?|efforts?|trials?|evaluations?|perspectives?)\b",
    re.IGNORECASE,
)


def unheld(text: str, draft: Draft, source: Source) -> str | None:
    """Return why the context does not bear on what the draft changes; None where it does.

    A sentence counts as held where one of the context has enough of its words, a value where it
    is in the context. A value that is nearly all of its sentence, or whose sentence is clearly
    held, need not: it may have been computed. An opening yes or no is on what was asked.
    """
    edit = draft.edits[:2][-1]  # of a flipped opening, its explanation
    sentence = sentence_at(text, edit.start)
    if draft.kind in _ADDED or sentence is None:
        return None
    if is_outlook(sentence.text):
        return None if _cover(sentence, source) == 1 else "outlook"
    if draft.kind == "yes-no":  # on what was asked
        return None
    if draft.kind not in _VALUES:
        return "not held" if _cover(sentence, source) < _HELD else None
    value = {canonical(word.form) for word in words(text[edit.start : edit.end])}
    if len(sentence.content - value) <= _SHORT or source.holding(value):
        return None
    return "not held" if _cover(sentence, source) < _CLEARLY_HELD else None


def is_outlook(sentence: str) -> bool:
    """Return whether the sentence calls for further work."""
    return _OUTLOOK.search(sentence) is not None


def _cover(sentence: Sentence, source: Source) -> float:
    """Return the share of the sentence that the context's nearest one holds."""
    nearest = source.best(sentence.content)
    return source.coverage(sentence.content, nearest) if nearest else 0.0
