"""What was sent from the page, checked, as annotations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args

from moonlynx.judge.contract.types import BadInput, Score, SentenceLabel
from moonlynx.judge.text import split_sentences

from ..records import QARow
from .records import Annotation, LabelledSentence, checks_of

Form = Mapping[str, Any]
_Choice = TypeVar("_Choice", bound=str)

LABELS: tuple[Score, ...] = get_args(Score)
SENTENCE_LABELS: tuple[SentenceLabel, ...] = get_args(SentenceLabel)
YES_NO = ("yes", "no")
NOTE_LIMIT = 10_000  # characters

# A name is part of an address.
_NAME = re.compile(r"\w[\w .'-]{0,39}")


def read_name(name: str) -> str:
    """Return an annotator's name without surrounding white space.

    Raises:
        BadInput: it is none.
    """
    name = " ".join(name.split())
    if not _NAME.fullmatch(name):
        raise BadInput(
            "bad_input", "name", "give 1 to 40 letters, digits, spaces, dots, hyphens, apostrophes"
        )
    return name


def read_labels(form: Form, row: QARow, annotator: str) -> Annotation:
    """Return what an annotator says of a row, sentence by sentence and as a whole.

    Raises:
        BadInput: a label is missing, or the note is too long.
    """
    sentences = tuple(
        LabelledSentence(
            start=piece.start,
            end=piece.end,
            label=_choose(form, f"sentence-{number}", SENTENCE_LABELS),
        )
        for number, piece in enumerate(split_sentences(row.answer), start=1)
    )
    return Annotation(
        id=row.id,
        source=row.source,
        row_label=row.label,
        annotator=annotator,
        label=_choose(form, "label", LABELS),
        sentences=sentences,
        note=_note(form),
    )


def read_checks(form: Form, row: QARow, labelled: Annotation) -> Annotation:
    """Return an annotation with what is asked once the row is labelled.

    Raises:
        BadInput: an answer is missing, or the note is too long.
    """
    answers: dict[str, bool] = {
        check: _choose(form, check, YES_NO) == "yes" for check in checks_of(row)
    }
    return labelled.model_copy(update={"note": _note(form), **answers})


def _choose(form: Form, field: str, choices: Sequence[_Choice]) -> _Choice:
    for choice in choices:
        if form.get(field) == choice:
            return choice
    raise BadInput("bad_input", field.replace("-", " "), f"choose one of {', '.join(choices)}")


def _note(form: Form) -> str:
    note = str(form.get("note", "")).replace("\r\n", "\n").strip()
    if len(note) > NOTE_LIMIT:
        message = f"has {len(note):,} characters; at most {NOTE_LIMIT:,} are kept"
        raise BadInput("bad_input", "note", message)
    return note
