"""What a correction did to an answer: each sentence, before and after."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .types import Documents, Id, JudgeError, Range, Record, Text, Turn, Usage, Verdict

Outcome = Literal[
    "unchanged", "filtered", "rewritten", "annotated", "retried", "nothing_left", "unscored"
]


class Change(Range):
    """What became of one sentence: `original[start:end] == text`.

    `new` is what stands in its place where it was rewritten or marked. `reason` says why it was
    changed, or why the sentence that was to replace it was refused. `lost` are words that the
    documents hold and the corrected answer no longer does, where it was rewritten.
    """

    text: Text
    action: Literal["kept", "removed", "rewritten", "marked"]
    new: Text | None = None
    reason: Text | None = None
    lost: tuple[Text, ...] = ()


class Attempt(Record):
    """An earlier answer of the chat model, and why it was asked again."""

    answer: Text
    verdict: Verdict


class Correction(Record):
    """An answer that was judged, and what was changed until it passed.

    `unscored` answers are as they were. Of `nothing_left`, `answer` says that no part is supported;
    `after` is then the last verdict, null where no sentence was left to judge.
    """

    outcome: Outcome
    original: Text = Field(description="What the changes refer to: the chat model's last answer.")
    answer: Text
    changes: tuple[Change, ...]
    before: Verdict
    after: Verdict | None = None
    attempts: tuple[Attempt, ...] = Field(default=(), description="Earlier answers, by `retry`.")
    usage: Usage = Field(default=Usage(), description="What rewriting cost, without judging.")


class CorrectedRow(Record):
    """A row with its corrected answer; what could not be read has an error instead."""

    id: Id | None = None
    question: Text = ""
    context: Documents = ()
    answer: Text = ""
    conversation: tuple[Turn, ...] = ()
    correction: Correction | None = None
    error: JudgeError | None = None
