"""What a training run records of its machine: hardware and energy."""

import os
import shutil
import subprocess
from typing import Annotated, Literal

from pydantic import Field

from moonlynx.eval.provenance import processor
from moonlynx.judge.contract.types import Count, Finite, MoonlynxError, Record

_CORE = (
    12.0,
    "the figure of the Green Algorithms calculator (Lannelongue et al., 2021) for a core of any "
    "processor",
)
_GPU = (400.0, "assumed, for the driver names no power limit")
HARDWARE = "hardware.json"  # in a stage's folder: what it was trained on
_JOULES_PER_KWH = 3.6e6

_Amount = Annotated[Finite, Field(ge=0)]


class RecordError(MoonlynxError, ValueError):
    """A record of training that cannot be read: what is wrong with which field."""


class Hardware(Record):
    """What was trained on, and the power that is taken for it."""

    name: str  # model of the processor or GPU
    # how many cores or GPUs were used
    unit: Literal["core", "GPU"]
    count: Annotated[Count, Field(gt=0)]
    watts: _Amount  # taken for one of them
    watts_from: str  # where that figure comes from


class Energy(Record):
    """An estimate of the energy spent, in kWh, and how it was made."""

    kwh: _Amount
    how: str


def world_size() -> int:
    """Return how many processes train side by side, as `accelerate launch` sets it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def find_hardware() -> Hardware:
    """Describe what torch trains on here: the GPUs of this run, or the cores it computes with."""
    import torch

    if torch.cuda.is_available():
        watts, source = _gpu_watts()
        return Hardware(
            name=torch.cuda.get_device_name(),
            unit="GPU",
            count=world_size(),
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
