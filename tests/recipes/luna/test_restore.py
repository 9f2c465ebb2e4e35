import json
import shutil

import numpy as np
import pytest

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.backends.torch_encoder import TorchEncoder, freeze, load_network, save_network
from moonlynx.recipes.luna.base import start_network
from moonlynx.recipes.luna.checkpoints import read_progress
from moonlynx.recipes.luna.export import export
from moonlynx.recipes.luna.record import RECORD_FILE
from moonlynx.recipes.luna.restore import restore
from moonlynx.recipes.luna.settings import Run, Scheme
from moonlynx.recipes.runs import SettingsError

from ...tiny_encoder import random_inputs
from ..tiny_base import build_base

pytestmark = pytest.mark.heavy
STAGE = {"pairs": {"fever-symmetric": 9}, "epochs": 1}
DONE = {"name": "one", "items": 50, "tokens": 900, "seconds": 3.5, "held_back": 7, "auroc": 0.75}
RECORD = {
    "recipe": "tiny",
    "mix": "shipped",
    "base": "tiny",
    "base_sha256": "0" * 64,
    "stages": [DONE],
    "hardware": {"name": "x", "unit": "core", "count": 1, "watts": 12.0, "watts_from": "a guess"},
    "energy": {"kwh": 0.1, "how": "a guess"},
    "aggregations": [],
    "date": "2026-11-24",
    "command": "moonlynx train luna tiny",
    "commit": None,
    "versions": {},
}


def run_of(**stages):
    limits = {"window": 96, "lead": 8, "claim": 40}
    return Run.model_validate({"base": "tiny", "frozen": 1, "stages": stages} | limits)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    words = [f"w{number}" for number in range(300)]  # enough to be worth quantising
    return build_base(tmp_path_factory.mktemp("base"), words, num_hidden_layers=2)


@pytest.fixture(scope="module", params=list(Scheme))
def shipped(request, base, tmp_path_factory):
    import torch

    folder = tmp_path_factory.mktemp("shipped")
    network = start_network(base, run_of(one=STAGE))
    freeze(network, 1)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter.data, std=0.2)
    save_network(network, folder / "torch")
    export(folder / "torch", folder / "onnx", request.param)
    (folder / "onnx" / RECORD_FILE).write_text(json.dumps(RECORD))
    return folder


def test_a_run_is_restored_from_the_judge_that_it_shipped(base, shipped, tmp_path):
    run, out = run_of(one=STAGE, two=STAGE | {"frozen": 0, "seed": 1}), tmp_path / "out"
    restore(shipped / "onnx", out, run, base)
    progress = read_progress(out / "one")
    assert progress == (0, 900, 3.5, 50, True)
    assert not read_progress(out / "two").done
    before, after = load_network(shipped / "torch"), load_network(out / "one")
    assert after.trunk.config.marks_layer == 1
    others = dict(before.named_parameters())
    for name, parameter in after.named_parameters():
        error = (parameter - others[name]).abs().max() / others[name].abs().max()
        assert error < 0.1, name
    inputs = random_inputs(20)
    inputs = [(ids % 300, types) for ids, types in inputs]
    read = [
        [output.claim for output in TorchEncoder(folder, device="cpu").encode(inputs)]
        for folder in (shipped / "torch", out / "one")
    ]
    assert np.corrcoef(*read)[0, 1] > 0.95
    with pytest.raises(SettingsError, match="other settings"):
        restore(shipped / "onnx", out, run_of(one=STAGE), base)


def without(shipped, folder, prefix):
    """Copy an ONNX folder, less the weights whose names begin so."""
    import onnx

    shutil.copytree(shipped / "onnx", folder)
    model = onnx.load(folder / MODEL)
    kept = [each for each in model.graph.initializer if not each.name.startswith(prefix)]
    assert len(kept) < len(model.graph.initializer)
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    onnx.save(model, folder / MODEL)
    return folder


def test_weights_of_another_shape_are_refused(base, shipped, tmp_path):
    folder = without(shipped, tmp_path / "broken", "claim.bias")
    with pytest.raises(BackendError, match=r"no weights of the shape of claim\.bias"):
        restore(folder, tmp_path / "out", run_of(one=STAGE), base)


def test_a_judge_from_before_the_three_classes_gets_a_new_head(base, shipped, tmp_path):
    restore(without(shipped, tmp_path / "old", "conflict."), tmp_path, run_of(one=STAGE), base)
    assert "conflict.weight" in dict(load_network(tmp_path / "one").named_parameters())
