"""Corrections as labelled rows: what `moonlynx calibrate` and the recipes read."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from moonlynx.judge.contract.types import Example, Span

from .database import Correction

_SOURCE = "feedback"  # of rows that name none themselves


@dataclass
class Exported:
    """The rows, and what became of the other corrections."""

    rows: list[Example] = field(default_factory=list)  # with their newest labels and spans
    overruled: int = 0  # corrections that a newer one of the same example contradicts
    without_text: int = 0  # corrected examples of which only the hash is stored


def label_rows(corrections: Sequence[Correction]) -> Exported:
    """Return a row for each corrected example whose texts are kept; the newest feedback counts."""
    exported = Exported()
    by_example: dict[str, list[Correction]] = {}
    for correction in corrections:
        by_example.setdefault(correction.example_sha256, []).append(correction)
    for given in by_example.values():
        newest = given[-1]
        exported.overruled += sum(one.label != newest.label for one in given)
        text = next((one.example for one in given if one.example is not None), None)
        if text is None:
            exported.without_text += 1
        else:
            exported.rows.append(_labelled(Example.model_validate_json(text), newest))
    return exported


def _labelled(example: Example, given: Correction) -> Example:
    """Replace the row's own gold label, if any, by the user's label."""
    spans: tuple[Span, ...] | None = None
    if given.spans is not None or given.label == "PASS":
        spans = tuple(
            Span(start=start, end=end, text=example.answer[start:end])
            for start, end in sorted(given.spans or ())
        )
    source = example.source or _SOURCE
    return example.model_copy(update={"label": given.label, "spans": spans, "source": source})
