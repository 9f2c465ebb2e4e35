"""What a training run was and took: `training.json`, beside the weights, for the model card."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from moonlynx import __version__
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.luna.aggregate import AnswerScore, Support
from moonlynx.judge.types import Count, Finite, MoonlynxError, Probability, Record

RECORD_FILE = "training.json"
_CORE = (
    12.0,
    "the figure of the Green Algorithms calculator (Lannelongue et al., 2021) for a core of any "
    "processor",
)
_GPU = (400.0, "assumed, for the driver names no power limit")
_JOULES_PER_KWH = 3.6e6

_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Amount = Annotated[Finite, Field(ge=0)]


class RecordError(MoonlynxError, ValueError):
    """A record of training that cannot be read: what is wrong with which field."""


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


class Hardware(Record):
    """What was trained on, and the power that is taken for it.

    Attributes:
        name: model of the processor or GPU.
        unit, count: how many cores or GPUs were used.
        watts: taken for one of them.
        watts_from: where that figure comes from.
    """

    name: str
    unit: Literal["core", "GPU"]
    count: Annotated[Count, Field(gt=0)]
    watts: _Amount
    watts_from: str


class Energy(Record):
    """An estimate of the energy spent, in kWh, and how it was made."""

    kwh: _Amount
    how: str


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
        commit: of the code, "-dirty" behind it where files had changed; null where not known.
        versions: of the packages that decide what comes out.
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


def write_record(record: TrainingRecord, folder: Path) -> None:
    """Write the record to the folder's `training.json`."""
    text = record.model_dump_json(indent=2) + "\n"
    (folder / RECORD_FILE).write_text(text, encoding="utf-8", newline="\n")


def read_record(folder: Path) -> TrainingRecord:
    """Read the folder's `training.json`.

    Raises:
        RecordError: there is none, or a field is wrong; names the field.
    """
    path = folder / RECORD_FILE
    try:
        return TrainingRecord.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RecordError(
            f"cannot read {path}: {error.strerror}; the recipe writes it beside the weights"
        ) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "content"
        raise RecordError(f"{path}: {field}: {first['msg']}") from None


def find_hardware() -> Hardware:
    """Describe what torch trains on here: the GPUs of this run, or the cores it computes with.

    Raises:
        MissingExtra: torch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("training", "train") from None
    if torch.cuda.is_available():
        watts, source = _gpu_watts()
        return Hardware(
            name=torch.cuda.get_device_name(),
            unit="GPU",
            count=int(os.environ.get("WORLD_SIZE", "1")),  # as `accelerate launch` sets it
            watts=watts,
            watts_from=source,
        )
    watts, source = _CORE
    cores = torch.get_num_threads()
    return Hardware(name=_processor(), unit="core", count=cores, watts=watts, watts_from=source)


def estimate_energy(hardware: Hardware, seconds: float) -> Energy:
    """Estimate the energy of so many seconds at the power taken for the hardware."""
    kwh = hardware.count * hardware.watts * seconds / _JOULES_PER_KWH
    units = f"{hardware.count} {hardware.unit}{'s' if hardware.count > 1 else ''}"
    how = (
        f"{units} at {hardware.watts:g} W ({hardware.watts_from}) for {seconds / 3600:.2f} hours; "
        "an estimate, nothing was metered; memory, cooling and the rest of the machine not counted"
    )
    return Energy(kwh=float(f"{kwh:.3g}"), how=how)


def package_versions() -> dict[str, str]:
    """Give the versions of Python, this package, and those that training computes with.

    Raises:
        PackageNotFoundError: torch or transformers is not installed.
    """
    return {
        "python": platform.python_version(),
        "moonlynx": __version__,
        **{name: version(name) for name in ("torch", "transformers")},
    }


def _processor() -> str:
    """Name the processor: as Linux does, else as Python can."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def _gpu_watts() -> tuple[float, str]:
    """Give the power limit of the first GPU, from its driver's tool."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return _GPU
    query = [tool, "--query-gpu=power.limit", "--format=csv,noheader,nounits"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)  # noqa: S603 (fixed)
    try:
        return float(done.stdout.split()[0]), "the board's power limit"
    except (IndexError, ValueError):
        return _GPU
