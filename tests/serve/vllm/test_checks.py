"""What is looked for before vLLM is started. nvidia-smi is a program on the path that says so."""

import re
import socket
import sys
from types import SimpleNamespace

import pytest

from moonlynx.serve.vllm import checks
from moonlynx.serve.vllm.checks import NotFit, check, find_gpus, require
from moonlynx.serve.vllm.deployment import Deployment, changed, read_deployment

from ...cases import cases
from ..loopback import free_port

H100 = "NVIDIA H100 80GB HBM3, 81559, 81008"
T4 = "Tesla T4, 15360, 15109"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def has(*gpus, code=0):
        program = tmp_path / "bin" / "nvidia-smi"
        program.parent.mkdir(exist_ok=True)
        lines = "".join(f"print({gpu!r})\n" for gpu in gpus)
        asked = tmp_path / "asked"
        note = f"import sys\nopen({str(asked)!r}, 'w').write(' '.join(sys.argv[1:]))\n"
        program.write_text(f"#!{sys.executable}\n{note}{lines}sys.exit({code})\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        return asked

    return has


@pytest.fixture
def installed(monkeypatch):
    def are(**versions):
        monkeypatch.setattr(checks, "_version", lambda name: versions.get(name.replace("-", "_")))
        monkeypatch.setattr(checks, "find_spec", lambda name: versions or None)

    return are


def faults(deployment):
    return {one.name: one.fault for one in check(deployment) if one.fault}


def at(name="lynx-70b", **changes):
    return changed(read_deployment(name), **{"port": free_port(), **changes})


def test_a_fit_machine_lacks_nothing(machine, installed, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    machine(*[H100] * 8)
    installed(vllm="0.32.1rc1.dev3")
    found = check(at(model=str(tmp_path / "model")))
    assert [one.fault for one in found] == [None] * len(found)
    require(found)
    assert str(found[2]) == "ok      memory of GPU 0: 85.5 GB, cache for 1,389,555 tokens"
    assert len(found) == 12


def test_all_that_is_missing_is_said_at_once(machine, installed, tmp_path):
    machine(H100, H100)
    installed()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = check(at(port=port, model=str(tmp_path / "none")))
    with pytest.raises(NotFit) as error:
        require(found)
    said = str(error.value)
    assert "vLLM: is not installed: pip install 'moonlynx[vllm]'" in said
    assert "GPUs: 8 needed, found 2 (NVIDIA H100 80GB HBM3, NVIDIA H100 80GB HBM3)" in said
    assert f"port: {port}: Address already in use" in said
    assert "weights: there is no config.json in" in said


@pytest.mark.parametrize(("versions", "gpus", "fault"), cases(__file__, "not_fitting"))
def test_a_vllm_that_does_not_fit_is_named(machine, installed, versions, gpus, fault):
    installed(**versions)
    machine(H100)
    precision = "bf16" if gpus else "fp32"
    found = faults(Deployment(model="./m", gpus=gpus, precision=precision))
    assert re.search(fault, found["vLLM"])


def test_a_gpu_that_is_too_small_or_in_use_says_by_how_much(machine):
    machine(T4)
    fault = faults(at("lynx-8b"))["memory of GPU 0"]
    assert "14.5 GB may be used, 18.6 are needed beside the cache" in fault
    assert "holds 0 tokens of the 8192 of one request" in fault
    machine("NVIDIA H100 80GB HBM3, 81559, 40000")
    fault = faults(at("lynx-8b"))["memory of GPU 0"]
    assert "41.9 of 85.5 GB are free, and memory_share: 0.9 claims 77.0" in fault


def test_no_driver_is_no_traceback_and_only_visible_gpus_count(monkeypatch, tmp_path, machine):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "nvidia-smi is not on the path" in faults(at())["GPUs"]
    machine("NVIDIA-SMI has failed", code=9)
    assert "nvidia-smi fails: NVIDIA-SMI has failed" in faults(at())["GPUs"]
    asked = machine(H100)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert len(find_gpus()) == 1
    assert "--id=2,3" in asked.read_text(encoding="utf-8")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert find_gpus() == []


def test_weights_that_are_not_here_may_not_be_fetched_offline(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE forbids" in faults(at(model="nobody/nothing"))["weights"]


@pytest.mark.parametrize(("free", "fault"), [(139e9, True), (150e9, False)])
def test_weights_to_be_fetched_need_room_on_disk(monkeypatch, tmp_path, free, fault):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "not" / "yet"))
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    # In FP8 too: it is bf16 that is downloaded.
    found = faults(at("lynx-70b-fp8", model="nobody/nothing")).get("weights")
    assert (found is not None) is fault
    if found:
        assert "141 GB; 139 GB of disk are free; set HF_HOME elsewhere" in found


def test_adapters_must_be_there(tmp_path):
    (tmp_path / "tone").mkdir()
    (tmp_path / "tone" / "adapter_config.json").write_text("{}", encoding="utf-8")
    adapters = {"tone": str(tmp_path / "tone"), "pii": str(tmp_path / "pii"), "hub": "org/adapter"}
    found = faults(at("luna2-l4", lora={"adapters": adapters}))
    assert "adapter tone" not in found
    assert "adapter hub" not in found
    assert "there is no adapter_config.json" in found["adapter pii"]
