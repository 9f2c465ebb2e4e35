"""What a run of Luna's recipe was and took: `training.json`, beside the weights, for the card."""

import datetime
import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from moonlynx.eval.provenance import git_commit, versions
from moonlynx.judge.backends.torch_encoder import TRUNK
from moonlynx.judge.contract.types import Count, Finite, Probability, Record
from moonlynx.judge.files.stored import Sha256, load_record, sha256_file
from moonlynx.judge.judges.luna.aggregate import AnswerScore, Support

from ..hardware import HARDWARE, Energy, Hardware, RecordError, estimate_energy, find_hardware
from .checkpoints import HELD_BACK, read_progress
from .settings import Run

RECORD_FILE = "training.json"
AGGREGATIONS = "aggregations.json"  # in the run's folder
_Amount = Annotated[Finite, Field(ge=0)]


class StageRecord(Record):
    """What one stage read and how far it came."""

    name: str
    # claims trained on, and held back
    items: Count
    tokens: Count  # read in training, padding not counted
    seconds: _Amount  # of training, over all its resumptions
    held_back: Count
    # of "not supported" over the claims held back; null where all have one label
    auroc: Probability | None


class Aggregation(Record):
    """A way from the encoder's outputs to an answer's score, with its AUROC by validation set."""

    aggregation: Support
    answer: AnswerScore
    auroc: dict[str, Probability]
    mean: Probability


class TrainingRecord(Record):
    """One run of the recipe, as it was."""

    schema_version: Literal["1.0"] = "1.0"
    recipe: str  # the settings file's name without its ending
    mix: str
    base: str
    base_sha256: Sha256  # of the weights that training started from
    stages: Annotated[tuple[StageRecord, ...], Field(min_length=1)]
    hardware: Hardware
    energy: Energy
    aggregations: tuple[Aggregation, ...]  # best mean first
    date: datetime.date
    command: str
    commit: str | None  # of the code, "-dirty" appended where files had changed
    versions: dict[str, str]


def training_record(recipe: str, run: Run, out: Path, base: Path) -> TrainingRecord:
    """Return the record of a finished run in `out`, which started from `base`."""
    stages = []
    for name in run.stages:
        progress = read_progress(out / name)
        figures = json.loads((out / name / HELD_BACK).read_text(encoding="utf-8"))
        held_back, auroc = figures["claims"].get("all", (0, None))
        reached = {key: getattr(progress, key) for key in ("items", "tokens", "seconds")}
        stages.append(StageRecord(name=name, **reached, held_back=held_back, auroc=auroc))
    # Of the longest stage, wherever the others and this are run.
    longest = max(stages, key=lambda stage: stage.seconds)
    path = out / longest.name / HARDWARE
    there = path.exists()  # not in runs of before 0.7.0
    hardware = load_record(path, Hardware, RecordError) if there else find_hardware()
    return TrainingRecord(
        recipe=recipe,
        mix=run.mix,
        base=run.base,
        base_sha256=sha256_file(base / TRUNK),
        stages=tuple(stages),
        hardware=hardware,
        energy=estimate_energy(hardware, sum(stage.seconds for stage in stages)),
        aggregations=json.loads((out / AGGREGATIONS).read_text(encoding="utf-8")),
        date=datetime.datetime.now(datetime.UTC).date(),
        # Without the options: they name folders of this machine and decide nothing.
        command=f"moonlynx train luna {recipe}",
        commit=git_commit(),
        versions=versions("torch", "transformers"),
    )


def read_record(folder: Path) -> TrainingRecord:
    """Read the folder's `training.json`.

    Raises:
        RecordError: there is none, or a field is wrong; names the field.
    """
    advice = "`moonlynx train luna` writes it beside the weights"
    return load_record(folder / RECORD_FILE, TrainingRecord, RecordError, advice)
