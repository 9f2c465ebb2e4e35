"""What a correction did to an answer: each sentence, before and after."""

from typing import Literal

from .types import Documents, Id, JudgeError, Range, Record, Text, Turn, Usage, Verdict

Outcome = Literal[
    "unchanged", "filtered", "rewritten", "annotated", "retried", "nothing_left", "unscored"
]


class Change(Range):
    """What became of one sentence: `original[start:end] == text`.

    `new` is what stands in its place; `reason` says why it was changed, or a rewrite refused;
    `lost` are words that the documents hold and the answer no longer does after a rewrite.
    """

    text: Text
    action: Literal["kept", "removed", "rewritten", "marked"]
    new: Text | None = None
    reason: Text | None = None
    lost: tuple[Text, ...] = ()


class Attempt(Record):
    """An earlier answer of the chat model, which FAILed."""

    answer: Text
    verdict: Verdict


class Correction(Record):
    """An answer that was judged, and what was changed until it passed.

    `unscored` answers are as they were; of `nothing_left`, `answer` says that there is no support.
    `after` is the last verdict, if the answer was judged again; `usage` is that of rewriting.
    """

    outcome: Outcome
    original: Text
    answer: Text
    changes: tuple[Change, ...]
    before: Verdict
    after: Verdict | None = None
    attempts: tuple[Attempt, ...] = ()
    usage: Usage = Usage()


class CorrectedRow(Record):
    """A row with its corrected answer; what could not be read has an error instead."""

    id: Id | None = None
    question: Text = ""
    context: Documents = ()
    answer: Text = ""
    conversation: tuple[Turn, ...] = ()
    correction: Correction | None = None
    error: JudgeError | None = None
