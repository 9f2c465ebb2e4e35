"""How template traces are worded: several ways to say the same, drawn by seed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

_SINGLE = str.maketrans('“”"', "‘’'")
_LONGEST = 200  # characters of a quotation

WORDINGS: Mapping[str, tuple[str, ...]] = {
    "question": (
        "The question is: {question}",
        "What is asked is: {question}",
        "The answer has to settle this question: {question}",
    ),
    # A claim that the document supports.
    "stated": (
        "The answer says {claim}. The document says so: {evidence}.",
        "{claim} is supported by the document, which says: {evidence}.",
        "For {claim}, the document has this: {evidence}. The two agree.",
        "The document says: {evidence}. This bears out {claim} in the answer.",
    ),
    "derived": (
        "The answer says {claim}. This follows from what the document says: {evidence}.",
        "{claim} is not said in the same words, but it rests on this in the document: {evidence}.",
        "The document says: {evidence}. From this comes {claim} in the answer.",
    ),
    "worked out": (
        "{claim} has to be worked out. The document gives what is needed for it: {evidence}.",
        "The document does not name {claim}; it follows from this: {evidence}.",
    ),
    "bare": (
        "The answer is {claim}. What the document says on the question is: {evidence}.",
        "On the question, the document says: {evidence}. This agrees with the answer, {claim}.",
    ),
    "related": (
        "On {claim}, the document has this: {evidence}. Nothing there speaks against it.",
        "Where the document deals with {claim}, it says: {evidence}. The answer agrees with that.",
    ),
    "rest": (
        "The other {count} statements of the answer rest on the document in the same way.",
        "What else the answer says, {count} more statements, agrees with the document as well.",
    ),
    "silent": (
        "The answer makes no claim that the document would have to support.",
        "Nothing is claimed in the answer that the document could contradict.",
    ),
    "faithful": (
        "All that the answer says is borne out by the document, so it is faithful.",
        "The answer adds nothing to the document and contradicts nothing in it: it is faithful.",
        "Nothing in the answer goes beyond the document. It is faithful.",
        "As the document supports what is claimed, the answer is faithful.",
    ),
    # A claim that the document does not support.
    "claimed": (
        "The answer says {claim}.",
        "According to the answer, {claim}.",
        "One claim of the answer is {claim}.",
    ),
    "contrary": (
        "The document, however, says: {evidence}.",
        "But what the document says is: {evidence}.",
        "This is not what the document says: {evidence}.",
    ),
    "instead": (
        "It speaks of {theirs} there, not of {ours}.",
        "Where the answer has {ours}, the document has {theirs}.",
        "That is {theirs} in the document against {ours} in the answer.",
    ),
    "nowhere": (
        "Nothing in the document says {ours}.",
        "{ours} stands nowhere in the document.",
        "The document does not mention {ours}.",
    ),
    "unsupported": (
        "The document does not support {ours}.",
        "No passage of the document bears out {ours}.",
        "{ours} goes beyond what the document says.",
    ),
    "nearest": (
        "What comes closest to it is: {evidence}.",
        "The nearest passage only says: {evidence}.",
        "The nearest that the document comes to it is: {evidence}.",
    ),
    "unfaithful": (
        "As this is not supported by the document, the answer is not faithful to it.",
        "The answer therefore is not faithful to the document.",
        "An answer that says this is not faithful to the document.",
        "So the document does not support the answer as it stands, and it is not faithful.",
    ),
}


def say(rng: Random, what: str, **slots: object) -> str:
    """Return a point in one of its wordings, its first letter a capital."""
    text = rng.choice(WORDINGS[what]).format(**slots)
    return text[0].upper() + text[1:]


def quote(text: str, focus: str = "") -> str:
    """Return a text in quotation marks, on one line; a long one is cut around `focus`."""
    line, focus = _nested(text).strip(" .;,"), _nested(focus)
    if len(line) > _LONGEST:
        centre = max(line.find(focus), 0) + min(len(focus), _LONGEST) // 2
        start = max(0, min(centre - _LONGEST // 2, len(line) - _LONGEST))
        start = line.find(" ", start) + 1 if start else 0
        end = start + _LONGEST
        stop = len(line) if end >= len(line) else max(line.rfind(" ", start, end), start + 1)
        line = ("… " if start else "") + line[start:stop] + (" …" if stop < len(line) else "")
    return f"“{line}”"


def _nested(text: str) -> str:
    """Return a text to quote: single quotation marks inside, plain white space."""
    return " ".join(text.split()).translate(_SINGLE)
