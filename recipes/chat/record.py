"""What a run of fine-tuning was and took: `trained.json`, for the chain's report and the card."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from moonlynx.halubench.records import QARow
from moonlynx.judge.contract.types import Count, Finite, Record
from moonlynx.judge.files.stored import load_record

from ..hardware import Energy, Hardware, RecordError

RECORD_FILE = "trained.json"


class SourceRecord(Record):
    """Rows of one source that were given, by label; the licence is as its publishers state it."""

    source: str
    licence: str
    passes: Count
    fails: Count


class TrainingRecord(Record):
    """One run, as it was."""

    schema_version: Literal["1.0"] = "1.0"
    base: str
    # trained on, and left out as too long
    rows: Count
    too_long: Count
    validation: Count  # rows that the loss was measured on
    steps: Count
    seconds: Finite  # of training; what was lost when it was stopped is not among them
    # at each logged step, and after each epoch
    losses: Annotated[tuple[Finite, ...], Field(min_length=1)]
    validation_losses: tuple[Finite, ...]
    sources: tuple[SourceRecord, ...]  # of the rows given, those left out as too long among them
    hardware: Hardware
    energy: Energy
    date: datetime.date
    commit: str | None  # of the code, "-dirty" appended where files had changed
    versions: dict[str, str]
    # of the run whose adapters this one went on from, where it is known
    before: TrainingRecord | None = None

    @property
    def runs(self) -> tuple[TrainingRecord, ...]:
        """The runs that the weights are of, the first one first, this one last."""
        return (*(self.before.runs if self.before else ()), self)

    @property
    def read_sources(self) -> tuple[SourceRecord, ...]:
        """The sources of all these runs, in the order of their names."""
        counts: dict[tuple[str, str], list[int]] = {}
        for each in (source for run in self.runs for source in run.sources):
            sums = counts.setdefault((each.source, each.licence), [0, 0])
            sums[0] += each.passes
            sums[1] += each.fails
        return tuple(
            SourceRecord(source=source, licence=licence, passes=passes, fails=fails)
            for (source, licence), (passes, fails) in sorted(counts.items())
        )


def count_sources(rows: Sequence[QARow]) -> tuple[SourceRecord, ...]:
    """Count rows by source and label, in the order of the sources' names."""
    counts = Counter((row.source, row.label) for row in rows)
    licences = {row.source: row.provenance.licence for row in rows}
    return tuple(
        SourceRecord(
            source=source,
            licence=licence,
            passes=counts[source, "PASS"],
            fails=counts[source, "FAIL"],
        )
        for source, licence in sorted(licences.items())
    )


def read_record(folder: Path) -> TrainingRecord:
    """Read the record of the run in `folder`.

    Raises:
        RecordError: there is none, or a field is wrong; names the field.
    """
    advice = "`moonlynx train lynx` writes it"
    return load_record(folder / RECORD_FILE, TrainingRecord, RecordError, advice)
