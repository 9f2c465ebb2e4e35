"""What a training run records: its hardware, energy and packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from moonlynx.eval.provenance import processor, versions
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import Count, Finite, MoonlynxError, Record, first_fault

_CORE = (
    12.0,
    "the figure of the Green Algorithms calculator (Lannelongue et al., 2021) for a core of any "
    "processor",
)
_GPU = (400.0, "assumed, for the driver names no power limit")
_JOULES_PER_KWH = 3.6e6

_Amount = Annotated[Finite, Field(ge=0)]
RecordKind = TypeVar("RecordKind", bound=Record)


class RecordError(MoonlynxError, ValueError):
    """A record of training that cannot be read: what is wrong with which field."""


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


def write_record(record: Record, path: Path) -> None:
    """Write a record: the same record is the same bytes."""
    path.write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8", newline="\n")


def read_record(path: Path, kind: type[RecordKind], written_by: str) -> RecordKind:
    """Read a record.

    Args:
        path: of its file.
        kind: what it holds.
        written_by: who writes it, for the message where there is none.

    Raises:
        RecordError: there is none, or a field is wrong; names the field.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror}; {written_by}") from None
    except ValidationError as error:
        field, message = first_fault(error, "content")
        raise RecordError(f"{path}: {field}: {message}") from None


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
    return Hardware(name=processor(), unit="core", count=cores, watts=watts, watts_from=source)


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
    """Return the versions of Python, this package, and those that training computes with."""
    return versions("torch", "transformers")


def _gpu_watts() -> tuple[float, str]:
    """Return the power limit of the first GPU, from its driver's tool."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return _GPU
    query = [tool, "--query-gpu=power.limit", "--format=csv,noheader,nounits"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)  # noqa: S603 (fixed)
    try:
        return float(done.stdout.split()[0]), "the board's power limit"
    except (IndexError, ValueError):
        return _GPU
