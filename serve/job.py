"""Status of one batch file, and of all of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from moonlynx.judge.contract.types import Count, Record, Text


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
