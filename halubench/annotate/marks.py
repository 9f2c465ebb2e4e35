"""Texts cut at the edits that were made to them, for the page to mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..records import Edited


class Part(NamedTuple):
    """A run of a text, as it is or as an edit made it.

    Attributes:
        text: the text that is there now.
        edit: what put it there; None where nothing was changed.
    """

    text: str
    edit: Edited | None


def cut_at_edits(text: str, edits: Sequence[Edited], document: int | None = None) -> list[Part]:
    """Cut a text into parts that join to it; of edits that overlap the first counts.

    Args:
        text: the answer, or a document of the context.
        edits: of the whole row.
        document: number of the document from 0; None for the answer.
    """
    parts: list[Part] = []
    position = 0
    own = (edit for edit in edits if edit.document == document)
    for edit in sorted(own, key=lambda edit: (edit.start, edit.end)):
        if position <= edit.start <= edit.end <= len(text):
            parts.append(Part(text[position : edit.start], None))
            parts.append(Part(text[edit.start : edit.end], edit))
            position = edit.end
    parts.append(Part(text[position:], None))
    return parts
