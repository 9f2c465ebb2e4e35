"""What labelling and rewriting read and write."""

from __future__ import annotations

from moonlynx.judge.contract.types import Count, Id, JudgeError, Record, Text, Usage

from ..data.rows import DraftRow


class RunInfo(Record):
    """What identifies a run: its rows by hash, its metric, what was asked, and of which models."""

    input_sha256: Text
    metric: Text
    task: Text
    models: tuple[Text, ...]


class Provenance(Record):
    """Where a row comes from, and what it cost.

    Attributes:
        run: that made it.
        line: of the input that it was made of, from 1.
        usage: of each of the run's models.
    """

    run: RunInfo
    line: Count
    usage: tuple[Usage, ...]


class MadeRow(DraftRow):
    """A row that a head can be trained on.

    Attributes:
        votes: how many models gave each class, where they voted.
        provenance: where it comes from.
    """

    votes: dict[Text, Count] | None = None
    provenance: Provenance


class DroppedRow(Record):
    """A row that came to nothing, and why."""

    id: Id | None = None
    error: JudgeError
    provenance: Provenance
