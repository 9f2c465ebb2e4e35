"""What a run of Luna's recipe was and took: `training.json`, beside the weights, for the card."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from moonlynx.judge.contract.types import Count, Finite, Probability, Record
from moonlynx.judge.judges.luna.aggregate import AnswerScore, Support

from .. import record
from ..record import Energy, Hardware

RECORD_FILE = "training.json"
_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Amount = Annotated[Finite, Field(ge=0)]


class StageRecord(Record):
    """What one stage read and how far it came.

    Attributes:
        name: as in the run's settings.
        items: claims trained on.
        tokens: read in training, padding not counted.
        seconds: of training, over all its resumptions.
        held_back: claims held back from it.
        auroc: of "not supported" over those; null where all have one label.
    """

    name: str
    items: Count
    tokens: Count
    seconds: _Amount
    held_back: Count
    auroc: Probability | None


class Aggregation(Record):
    """A way from the encoder's outputs to an answer's score, as measured on the validation sets.

    Attributes:
        aggregation, answer: as in `LunaConfig`.
        auroc: of answers, by set.
        mean: over the sets.
    """

    aggregation: Support
    answer: AnswerScore
    auroc: dict[str, Probability]
    mean: Probability


class TrainingRecord(Record):
    """One run of the recipe, as it was.

    Attributes:
        recipe: the settings file's name without its ending.
        mix, base: as in the settings.
        base_sha256: of the weights that training started from.
        stages: in order.
        aggregations: best mean first.
        command: the command line of the run.
        commit: of the code, "-dirty" appended where files had changed; null where not known.
        versions: of the packages that affect the result.
    """

    schema_version: Literal["1.0"] = "1.0"
    recipe: str
    mix: str
    base: str
    base_sha256: _Sha256
    stages: Annotated[tuple[StageRecord, ...], Field(min_length=1)]
    hardware: Hardware
    energy: Energy
    aggregations: tuple[Aggregation, ...]
    date: datetime.date
    command: str
    commit: str | None
    versions: dict[str, str]


def write_record(done: TrainingRecord, folder: Path) -> None:
    """Write the record to the folder's `training.json`."""
    record.write_record(done, folder / RECORD_FILE)


def read_record(folder: Path) -> TrainingRecord:
    """Read the folder's `training.json`.

    Raises:
        RecordError: there is none, or a field is wrong; names the field.
    """
    said = "the recipe writes it beside the weights"
    return record.read_record(folder / RECORD_FILE, TrainingRecord, said)
