"""Corrections as labelled rows: what `moonlynx calibrate` and the recipes read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from moonlynx.judge.contract.types import Example, Span

from .database import Correction

_SOURCE = "feedback"  # of rows that name none themselves


@dataclass
class Exported:
    """The rows, and what became of the other corrections.

    Attributes:
        rows: an example each, as it was first corrected, with its newest label and spans.
        overruled: corrections that a newer one of the same example contradicts.
        without_text: corrected examples of which only the hash is kept.
    """

    rows: list[Example] = field(default_factory=list)
    overruled: int = 0
    without_text: int = 0


def label_rows(corrections: Sequence[Correction]) -> Exported:
    """Return a row for each corrected example whose texts are kept; the newest feedback counts.

    Args:
        corrections: oldest first.
    """
    exported = Exported()
    for words in _by_example(corrections):
        newest = words[-1]
        exported.overruled += sum(word.label != newest.label for word in words[:-1])
        text = next((word.example for word in words if word.example is not None), None)
        if text is None:
            exported.without_text += 1
        else:
            exported.rows.append(_labelled(Example.model_validate_json(text), newest))
    return exported


def _by_example(corrections: Sequence[Correction]) -> Iterator[list[Correction]]:
    found: dict[str, list[Correction]] = {}
    for correction in corrections:
        found.setdefault(correction.example_sha256, []).append(correction)
    return iter(found.values())


def _labelled(example: Example, word: Correction) -> Example:
    """Replace the row's own gold label, if any, by the user's label."""
    spans: tuple[Span, ...] | None = None
    if word.spans is not None or word.label == "PASS":
        spans = tuple(
            Span(start=start, end=end, text=example.answer[start:end])
            for start, end in sorted(word.spans or ())
        )
    update: dict[str, Any] = {"label": word.label, "spans": spans}
    return example.model_copy(update=update | {"source": example.source or _SOURCE})
