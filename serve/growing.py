"""A growing answer: which of its sentences are whole, and how each is judged once.

What the answer says before a sentence, up to a bound, follows the question, so that "it" and "she"
still mean something. So the cost of an answer grows with its length, not with its square.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, model_validator

from moonlynx.judge.contract.correction import Correction
from moonlynx.judge.contract.types import (
    Count,
    Documents,
    Example,
    JudgeError,
    Offset,
    Probability,
    Record,
    Text,
    Verdict,
    wrong,
)
from moonlynx.judge.text import Piece, split_sentences

_LEAD = 150  # characters of the answer that a sentence is read with
# What follows a sentence that cannot grow any more: a new line, a whole word, or as much as one
# in scripts without blanks.
_GOES_ON = re.compile(r"[^\S\n]*(?:\n|\S+\s|\S{12})")


def _not_blank(documents: tuple[str, ...]) -> tuple[str, ...]:
    if not any(document.strip() for document in documents):
        raise wrong("holds no text; pass at least one document that is not blank", "empty_context")
    return documents


WrittenDocuments = Annotated[Documents, AfterValidator(_not_blank)]


class GrowingAnswer(Record):
    """What of an answer there is so far, and how much of it has been judged before."""

    question: Text = ""
    context: WrittenDocuments = Field(
        description="The documents, at least one; a string is one document."
    )
    answer: Text = Field(description="The answer so far, from its beginning.")
    judged: Count = Field(
        default=0, description="Characters of it that were judged before: as the last reply said."
    )
    final: StrictBool = Field(default=False, description="Nothing comes after this.")
    halt_at: Probability = Field(
        default=0.5, description="P(hallucinated) from which a sentence that FAILs halts."
    )

    @model_validator(mode="after")
    def _not_past_the_end(self) -> Self:
        if self.judged > len(self.answer):
            raise wrong(
                f"judged: {self.judged} characters cannot have been judged of an answer of "
                f"{len(self.answer)}"
            )
        return self

    def whole_sentences(self) -> list[Piece]:
        """Return the sentences behind `judged` that cannot grow any more, as ranges of the answer.

        Those without a letter or digit are left out.
        """
        return list(_whole(self.answer, self.judged, self.final))

    def example(self, piece: Piece) -> Example:
        """Return a sentence as an answer of its own, with what leads to it."""
        lead = self.answer[max(0, piece.start - _LEAD) : piece.start]
        if piece.start > _LEAD:
            lead = lead.partition(" ")[2]
        question = f"{self.question}\n{lead}".strip()
        return Example(question=question, context=self.context, answer=piece.text)

    def halts(self, verdict: Verdict) -> bool:
        """Return whether a sentence's verdict is a confident hallucination.

        Of a judge without a calibration, every FAIL is one.
        """
        certain = verdict.probability is None or verdict.probability >= self.halt_at
        return verdict.score == "FAIL" and certain


class GuardEvent(Record):
    """One event about a growing answer.

    `sentence` brings a sentence's verdict, whose offsets are those of the whole answer; `halt`
    names the first that is a confident hallucination, and ends the stream; `judged` ends a stream
    without one, and says what to send as `judged` next; `error` ends one that could not go on.
    `corrected` says what was changed of a whole answer.
    """

    event: Literal["sentence", "halt", "judged", "error", "corrected"]
    start: Offset | None = None
    end: Offset | None = None
    verdict: Verdict | None = None
    judged: Count | None = None
    error: JudgeError | None = None
    correction: Correction | None = Field(default=None, exclude_if=lambda value: value is None)


def may_be_judged(answer: str, judged: int) -> bool:
    """Return whether a sentence after `judged` is whole."""
    return next(_whole(answer, judged, final=False), None) is not None


def _whole(answer: str, judged: int, final: bool) -> Iterator[Piece]:
    rest = answer[judged:]
    for start, end, text in split_sentences(rest):
        if not (final or _GOES_ON.match(rest, end)):
            return
        if any(map(str.isalnum, text)):  # a rule or an emoji alone is no answer
            yield Piece(judged + start, judged + end, text)


def place(verdict: Verdict, start: int) -> Verdict:
    """Move a sentence's verdict to where the sentence is in its answer."""

    def moved(ranges: tuple[Record, ...]) -> tuple[Record, ...]:
        return tuple(
            one.model_copy(update={"start": one.start + start, "end": one.end + start})  # type: ignore[attr-defined]
            for one in ranges
        )

    shifted = {"spans": moved(verdict.spans), "sentences": moved(verdict.sentences)}
    return verdict.model_copy(update=shifted)
