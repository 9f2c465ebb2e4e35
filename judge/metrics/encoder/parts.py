"""What a head reads of an input: windows of a text, or of one text beside another.

Training and judging read inputs here and nowhere else.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from ...contract.types import JudgeError, MetricInput
from ...text import stems_of
from ..definition import MetricDefinition
from . import tools

Form = Literal["text", "documents", "answer", "tools"]
"""Texts by themselves; a question beside documents, an answer beside its question, a call beside
what it is for."""

_NEEDED: Mapping[Form, tuple[str, ...]] = {
    "documents": ("input", "context"),
    "answer": ("input", "output"),
    "tools": ("input", "output"),
}
_WINDOW = 250  # tokens of a text
_CLAIM = 128  # tokens of the part that is beside another
_PAIR = 500  # tokens of both, where neither may be cut


class Part(NamedTuple):
    """One window: what the encoder reads at once.

    Attributes:
        premise: the text; of a pair its first one.
        claim: of a pair its second one, else "".
        counts: what is counted, not read; as many for every window of a form, none for a text.
    """

    premise: str
    claim: str = ""
    counts: tuple[float, ...] = ()


def read_parts(
    form: Form, definition: MetricDefinition, one: MetricInput, tokenizer: Tokenizer
) -> list[Part] | JudgeError:
    """Cut an input into windows; `too_long` where a part that may not be cut is."""
    if form == "text":
        read = (_text(one, field) for field in definition.reads)
        parts = list(_windows("\n".join(filter(None, read)), tokenizer, _WINDOW))
        if len(parts) > 1 and definition.windows is None:
            return _too_long("the text", _WINDOW)
        return [Part(text) for text in parts]
    if blank := next((f for f in _NEEDED[form] if not _text(one, f)), None):
        message = f"{blank}: is blank; {definition.name} needs it"
        return JudgeError(
            code="empty_context" if blank == "context" else "bad_input", message=message
        )
    if form == "documents":
        if _length(one.input, tokenizer) > _CLAIM:
            return _too_long("input", _CLAIM)
        texts = [
            text
            for document in one.context or ()
            if document.strip()
            for text in _windows(document, tokenizer, _WINDOW - _CLAIM // 2)
        ]
        return [Part(text, one.input, _overlaps(one.input, text)) for text in texts]
    if form == "answer":
        part = Part(one.input, one.output, _overlaps(one.input, one.output))
    else:
        claim, counts = tools.read_call(one)
        part = Part(one.input, claim, counts)
    if _length(part.premise, tokenizer) + _length(part.claim, tokenizer) > _PAIR:
        return _too_long("what is read", _PAIR)
    return [part]


def _text(one: MetricInput, field: str) -> str:
    value = getattr(one, field)
    return value.strip() if isinstance(value, str) else "\n".join(value or ()).strip()


def _windows(text: str, tokenizer: Tokenizer, size: int) -> Iterator[str]:
    """Cut a text into parts of about as many tokens, `size` at most."""
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    if len(offsets) <= size:
        yield text
        return
    for piece in np.array_split(np.array(offsets), -(-len(offsets) // size)):
        yield text[int(piece[0, 0]) : int(piece[-1, 1])]


def _length(text: str, tokenizer: Tokenizer) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


def _too_long(what: str, limit: int) -> JudgeError:
    message = f"{what} has more than {limit} tokens, and this metric is not judged by parts"
    return JudgeError(code="too_long", message=message)


def _overlaps(question: str, text: str) -> tuple[float, float, float]:
    """Return each text's share of words that the other holds, and whether the text has a number."""
    asked, held = stems(question), stems(text)
    both = len(asked & held)
    number = any(word[0].isdigit() for word in held - asked)
    return both / max(1, len(asked)), both / max(1, len(held)), float(number)


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's content words."""
    return frozenset(stems_of(text))
