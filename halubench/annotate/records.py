"""What an annotator says of a row."""

from collections.abc import Sequence
from typing import Literal

from pydantic import StrictBool

from moonlynx.judge.contract.types import Range, Record, Score, SentenceLabel, Text

from ..records import QARow

Check = Literal["perturbation_holds", "reasoning_right"]


class LabelledSentence(Range):
    """The label of one sentence: a character range of the answer."""

    label: SentenceLabel


class Annotation(Record):
    """What one annotator says of one row.

    `label` and `sentences` were given before the annotator saw the row's own label, its change or
    its reasoning.
    """

    # of the row
    id: Text
    source: Text
    row_label: Score | None = None  # the row's own label
    annotator: Text  # name of who labelled
    label: Score  # of the whole answer
    sentences: tuple[LabelledSentence, ...]  # as `split_sentences` finds them in the answer
    # whether the change made the answer unsupported; None where the row was not changed, or until
    # it is answered
    perturbation_holds: StrictBool | None = None
    reasoning_right: StrictBool | None = None  # whether the row's reasoning is right; None likewise
    note: Text = ""  # in the annotator's words


def checks_of(row: QARow) -> Sequence[Check]:
    """Return the checks of a row that is labelled."""
    checks: list[Check] = []
    if row.change or row.edits:
        checks.append("perturbation_holds")
    if row.reasoning:
        checks.append("reasoning_right")
    return checks
