"""Writes the folder from which Triton serves Luna: two models, and how to build and run them."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from pydantic import ValidationError

import moonlynx
from moonlynx.judge.backends.local import hash_files
from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.backends.options import read_options
from moonlynx.judge.contract.spec import CascadeSpec, parse_spec
from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.judges.luna.config import CONFIG_FILE, READERS, LunaConfig
from moonlynx.judge.judges.luna.inputs import find_specials
from moonlynx.judge.judges.luna.weights import (
    CALIBRATION,
    TOKENIZER,
    WeightsFolder,
    open_weights,
    write_manifest,
)

from .encoder import ENCODER, INPUTS, OUTPUTS
from .model import EXAMPLE, JUDGE, VERDICT
from .steps import PLACEMENTS, Device, Placement, Shape, Steps, call_shape

MODELS = "models"
PLAN = "model.plan"
_TEMPLATES = Path(__file__).parent / "templates"
_LEAST = 4  # tokens of an input: three special ones, and one of the claim
_TYPES = {"tensor(int64)": "TYPE_INT64", "tensor(float)": "TYPE_FP32"}
_INTEGER_PRODUCT = b"MatMulInteger"  # how the operator of int8 weights is written in the file


class ExportError(MoonlynxError, ValueError):
    """Nothing that Triton could serve can be written: says why and what to do."""


def export(folder: Path, judge_name: str, device: Device, steps: Steps) -> None:
    """Write a new folder, whose `README.md` has the next steps.

    Raises:
        ExportError: the folder is in use, or the weights cannot be run so; says what to do.
        SpecError: the name is not Luna's, or has other options.
        LunaError, BackendError: as `load_judge` does.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExportError(f"{folder} exists and is not empty; name a new folder")
    weights, config = _read_weights(judge_name, steps.window)
    onnx = weights.path / MODEL
    _check_form(onnx, device, steps)
    tensors = _read_tensors(onnx, weights, config.window)
    shape = call_shape(device, steps.batching, config.window)
    version = hash_files(onnx)
    if device is not Device.CPU:  # other sums than those that a calibration was fitted for
        version += "-tensorrt" if steps.tensorrt else "-cuda"
    values = _values(device, steps, shape, PLACEMENTS[device], version) | tensors

    encoder, judge = (folder / MODELS / name for name in (ENCODER, JUDGE))
    for model in (encoder, judge):
        (model / "1").mkdir(parents=True)
    shutil.copyfile(onnx, folder / MODEL if steps.tensorrt else encoder / "1" / MODEL)
    _write(encoder / "config.pbtxt", "encoder.pbtxt", values)
    _write(judge / "config.pbtxt", "judge.pbtxt", values)
    _write(judge / "1" / "model.py", "model.txt", values)
    _write_weights(judge / "1", weights, config)
    _write(folder / "Dockerfile", "Dockerfile", values)
    _write(folder / "README.md", "README.md", values)
    if steps.tensorrt:
        _write(folder / "build_plan.sh", "build_plan.sh", values)


def _read_weights(judge_name: str, window: int | None) -> tuple[WeightsFolder, LunaConfig]:
    """Open the weights; a window of another length makes another version of the judge."""
    spec = parse_spec(judge_name)
    if isinstance(spec, CascadeSpec) or spec.name != "luna" or spec.backend not in (None, "onnx"):
        raise ExportError(f"{judge_name}: only luna on ONNX can be exported, as in luna:FOLDER")
    options = read_options("luna in Triton", spec.options, READERS)
    weights = open_weights(spec.model, "onnx")
    config = weights.config.model_copy(update=options)
    if window is None or window == config.window:
        return weights, config
    fields = config.model_dump() | {"window": window, "version": f"{config.version}-{window}"}
    try:
        return weights, LunaConfig.model_validate(fields)
    except ValidationError as error:
        raise ExportError(f"--{error.errors(include_url=False)[0]['msg']}") from None


def _check_form(onnx: Path, device: Device, steps: Steps) -> None:
    if device is Device.CPU and steps.tensorrt:
        raise ExportError("--tensorrt needs a GPU; add --device l4 or a100, or leave it out")
    if device is not Device.CPU and _INTEGER_PRODUCT in onnx.read_bytes():
        raise ExportError(
            f"{onnx} is in int8 for CPUs, which neither TensorRT nor onnxruntime runs on a GPU; "
            "write the weights in fp32 with `python -m moonlynx.recipes.luna.export FOLDER OUT "
            "--scheme fp32` and name them as luna:OUT"
        )


def _read_tensors(onnx: Path, weights: WeightsFolder, window: int) -> dict[str, str]:
    """Read one input of full length; return the model's tensors as the configuration has them."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what fails is said below
    session = onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
    ids = np.full((1, window), find_specials(weights.tokenizer).sep, dtype=np.int64)
    feed = dict(zip(INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
    asked = [node for node in session.get_outputs() if node.name in OUTPUTS]
    try:
        session.run([node.name for node in asked], feed)
    except Exception:  # onnxruntime's errors share no other base
        message = f"{onnx} cannot read {window} tokens at once; give a smaller --window"
        raise ExportError(message) from None
    return {
        "heads": str(len(asked)),
        "inputs": ",\n".join(_tensor(node, INPUTS) for node in session.get_inputs()),
        "outputs": ",\n".join(_tensor(node, OUTPUTS) for node in asked),
    }


def _tensor(node: Any, known: tuple[str, ...]) -> str:
    """Return a tensor as Triton's configuration has it; the batch's own dimension is left out."""
    if node.name not in known or node.type not in _TYPES:
        raise ExportError(f"{MODEL} has a tensor {node.name} of {node.type}; Luna's has {known}")
    dims = [size if isinstance(size, int) else -1 for size in node.shape[1:]]
    # A tensor has at least one dimension beside the batch's for Triton.
    shape = f"dims: {dims}" if dims else "dims: [ 1 ] reshape { shape: [ ] }"
    return f'  {{ name: "{node.name}" data_type: {_TYPES[node.type]} {shape} }}'


def _values(
    device: Device, steps: Steps, shape: Shape, placement: Placement, version: str
) -> dict[str, str]:
    on_gpu = device is not Device.CPU
    batcher = (
        f"dynamic_batching {{\n  preferred_batch_size: [ {shape.rows} ]\n"
        f"  max_queue_delay_microseconds: {placement.delay}\n}}"
    )
    said = {True: "on", False: "off"}
    return {
        "encoder": ENCODER,
        "judge": JUDGE,
        "example": EXAMPLE,
        "verdict": VERDICT,
        "model": MODEL,
        "plan": PLAN,
        "models": MODELS,
        "package": moonlynx.__version__,
        "device": device,
        "runtime": 'platform: "tensorrt_plan"' if steps.tensorrt else 'backend: "onnxruntime"',
        "batcher": batcher if steps.batching else "# Each input goes by itself.",
        "kind": "KIND_GPU" if on_gpu else "KIND_CPU",
        "gpus": "--gpus all " if on_gpu else "",
        "version": version,
        "least": str(shape.step or _LEAST),
        **{name: str(value) for name, value in (shape._asdict() | placement._asdict()).items()},
        "overlap": str(steps.overlap).lower(),
        "tensorrt_said": said[steps.tensorrt],
        "batching_said": said[steps.batching],
        "window_said": "as trained" if steps.window is None else "on",
        "overlap_said": said[steps.overlap],
    }


def _write_weights(folder: Path, weights: WeightsFolder, config: LunaConfig) -> None:
    """Write what the judge reads beside the encoder's weights, with a manifest of its own."""
    shutil.copyfile(weights.path / TOKENIZER, folder / TOKENIZER)
    if weights.calibration is not None:
        shutil.copyfile(weights.calibration, folder / CALIBRATION)
    text = config.model_dump_json(indent=2) + "\n"
    (folder / CONFIG_FILE).write_text(text, encoding="utf-8", newline="\n")
    write_manifest(folder)


def _write(path: Path, template: str, values: Mapping[str, str]) -> None:
    text = Template((_TEMPLATES / template).read_text(encoding="utf-8")).substitute(values)
    path.write_text(text, encoding="utf-8", newline="\n")
