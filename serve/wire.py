"""What client and server exchange beside the contract's records: batch files, and feedback."""

import hashlib
import json
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from moonlynx.judge.contract.types import Count, Example, Range, Record, Score, Text, wrong

COMPLETION = "chatcmpl-"  # how the id of a chat completion begins, before its verdict's
_JUDGED = ("question", "context", "answer", "conversation", "samples")


def _without_nul(text: str) -> str:
    """Refuse what PostgreSQL cannot hold."""
    if "\0" in text:
        raise wrong("holds the character U+0000; take it out")
    return text


VerdictId = Annotated[Text, StringConstraints(pattern=r"^(?:chatcmpl-)?[0-9a-f]{32}$")]
Sha256 = Annotated[Text, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Comment = Annotated[Text, StringConstraints(max_length=10_000), AfterValidator(_without_nul)]


class Job(Record):
    """How far a batch file came: `passed`, `hallucinated` and `unscored` add up to `judged`."""

    id: Text
    status: Literal["waiting", "running", "done", "failed"] = "waiting"
    rows: Count
    judged: Count = 0
    passed: Count = 0
    hallucinated: Count = 0
    unscored: dict[Text, Count] = Field(default_factory=dict, description="Counts by error code.")
    message: Text | None = Field(default=None, description="Why it failed.")


class JobPage(Record):
    """Some of the batch files, the newest first."""

    data: tuple[Job, ...]
    next: Text | None = Field(description="What to send as `after` for older ones; null: none.")


class Feedback(Record):
    """User feedback on a verdict: the label that the answer should have."""

    verdict_id: VerdictId | None = Field(
        default=None,
        description="As the header Moonlynx-Verdict-Id gave it, or the id of a chat completion.",
    )
    example_sha256: Sha256 | None = Field(
        default=None, description="Or the example's hash; its newest verdict is meant."
    )
    label: Score = Field(description="PASS: the documents support the answer. FAIL: they do not.")
    spans: tuple[Range, ...] | None = Field(
        default=None, description="What of the answer is unsupported; goes with FAIL."
    )
    comment: Comment | None = None

    @model_validator(mode="after")
    def _about_one(self) -> Self:
        if (self.verdict_id is None) == (self.example_sha256 is None):
            raise wrong("verdict_id: give either verdict_id or example_sha256")
        if self.label == "PASS" and self.spans:
            raise wrong("spans: an answer that is PASS has no unsupported spans; send FAIL")
        return self


class Kept(Record):
    """Which verdict the feedback is kept with."""

    verdict_id: Text
    example_sha256: Text


def example_sha256(example: Example) -> str:
    """Return an id of what was judged: without id, gold label, gold spans and source.

    SHA-256, in hex, of the UTF-8 JSON object of `question`, `context`, `answer`, `conversation` and
    `samples`, with sorted keys, without blanks and escapes of other scripts. One hash of all texts
    together: that of a short answer alone could be found by trying.
    """
    judged = example.model_dump(mode="json", include=set(_JUDGED))
    text = json.dumps(judged, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
