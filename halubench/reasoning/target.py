"""Add a trace to its row, and write the row as the target that a judge is trained on."""

import json
import re
from collections.abc import Iterable, Sequence

from moonlynx.judge.batch.chat_tasks import Fault
from moonlynx.judge.contract.types import BadInput

from ..leaks import find_leak
from ..records import QARow

_QUOTED = re.compile(r"“[^”]*+”|\"[^\"\n]*+\"")
_SUBJECT = r"\b(?:answer|response)\b(?:\s+\w+){0,3}?\s+(?:is|remains|stays)(?:,?\s+\w+,)?"
_FAITHFUL = re.compile(
    rf"{_SUBJECT}\s+(?:(?!not\b|un)\w+\s+)?(?:faithful|supported)\b", re.IGNORECASE
)
_UNFAITHFUL = re.compile(
    rf"{_SUBJECT}\s+(?:\w+\s+)?(?:not\s+(?:\w+\s+)?(?:faithful|supported)|unfaithful|unsupported)\b",
    re.IGNORECASE,
)


def with_reasoning(row: QARow, bullets: Iterable[str]) -> QARow | Fault:
    """Return the row with its trace; a fault where a judge must not learn from it."""
    reasoning = tuple(line for bullet in bullets if (line := " ".join(bullet.split())))
    if not reasoning:
        return Fault(reason="empty trace")
    about = "\n".join((row.question, *row.context, row.answer))
    if leak := find_leak(reasoning, about):
        return Fault(reason="leak", message=leak)
    if conflict := _against_label(row, reasoning):
        return Fault(reason="against the label", message=conflict)
    return QARow(**dict(row) | {"reasoning": reasoning})


def make_target(row: QARow, keys: Sequence[str] = ("REASONING", "SCORE")) -> str:
    """Return the target of training: `{"REASONING": [...], "SCORE": "PASS" | "FAIL"}`.

    Args:
        row: a labelled row.
        keys: of the target, in their order.

    Raises:
        BadInput: the row has no label, or no reasoning where that is a key.
    """
    fields = {"SCORE": "label", "REASONING": "reasoning"}
    for field in (fields[key] for key in keys):
        if not getattr(row, field):
            message = "is missing; make the row's trace before training on it"
            raise BadInput("bad_input", f"row {row.id}, {field}", message)
    return json.dumps({key: getattr(row, fields[key]) for key in keys}, ensure_ascii=False)


def _against_label(row: QARow, reasoning: Iterable[str]) -> str | None:
    """Find a verdict on the whole answer that is not the row's."""
    text = _QUOTED.sub("“”", " ".join(reasoning))
    faithful, unfaithful = _FAITHFUL.search(text), _UNFAITHFUL.search(text)
    if row.label == "PASS" and unfaithful:
        return unfaithful.group()
    if row.label == "FAIL" and faithful and not unfaithful:
        return faithful.group()
    return None
