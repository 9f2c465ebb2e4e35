import json
import logging
import shutil

import pytest

from moonlynx.judge.backends.llamacpp import LlamaCppBackend
from moonlynx.judge.backends.pretrained import half_is_slow, load_weights
from moonlynx.judge.backends.transformers import TransformersBackend

from ...tiny_gguf import write_gguf

pytestmark = pytest.mark.heavy


@pytest.fixture(params=["AVX2", "AVX512"])
def capability(request, monkeypatch):
    """Replace what torch says that this processor can do; the load is real."""
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: request.param)
    return request.param


def test_half_precision_is_slow_without_its_instructions(capability):
    assert half_is_slow() is (capability == "AVX2")


def test_four_bits_are_multiplied_in_what_is_fast(tiny_llama, capability):
    import torch

    settings = load_weights(str(tiny_llama), "cpu", "nf4").config.quantization_config
    expected = torch.float32 if capability == "AVX2" else torch.bfloat16
    assert settings.bnb_4bit_compute_dtype == expected


@pytest.mark.parametrize(("load", "far"), [("int8", 0.1), ("nf4", 0.6)])
def test_a_gguf_file_is_quantised_anew(tiny_llama, tmp_path, load, far):
    import torch

    pytest.importorskip("xllamacpp")
    file = write_gguf(tiny_llama, tmp_path / "tiny.gguf")
    whole, less = (load_weights(str(file), "cpu", each) for each in ("fp32", load))
    assert less.model.layers[0].mlp.up_proj.weight.element_size() == 1
    ids = torch.arange(1, 40)[None]
    with torch.inference_mode():
        one, other = (network(ids).logits.float() for network in (whole, less))
    assert 0 < (one - other).abs().mean() / one.abs().mean() < far


@pytest.mark.parametrize(("load", "warned"), [("bf16", True), ("fp16", True), ("fp32", False)])
def test_slow_weights_are_warned_of(tiny_llama, capability, caplog, load, warned):
    with caplog.at_level(logging.WARNING, "moonlynx"):
        load_weights(str(tiny_llama), "cpu", load)
    said = [record.getMessage() for record in caplog.records]
    assert any("load=fp32" in message for message in said) is (warned and capability == "AVX2")


def weights_of(model):
    return TransformersBackend(str(model), device="cpu").weights


@pytest.fixture
def model(tiny_llama, tmp_path):
    return shutil.copytree(tiny_llama, tmp_path / "model")


def train(folder):
    """Change one layer of a model and save it in its place."""
    network = load_weights(str(folder), "cpu", "auto")
    network.model.layers[1].mlp.up_proj.weight.data.mul_(1.01)
    network.save_pretrained(folder)


def test_a_model_trained_anew_in_its_folder_is_another(model, tiny_llama):
    assert weights_of(model) == weights_of(tiny_llama)
    train(model)
    assert weights_of(model) != weights_of(tiny_llama)


@pytest.mark.parametrize("change", ["adapters", "their scale", "the model below"])
def test_adapters_are_known_by_all_that_they_say(model, tmp_path, change):
    from peft import LoraConfig, get_peft_model

    def save(seed, alpha):
        import torch

        torch.manual_seed(seed)
        settings = LoraConfig(r=2, lora_alpha=alpha, target_modules=["q_proj"])
        adapted = get_peft_model(load_weights(str(model), "cpu", "auto"), settings)
        adapted.save_pretrained(tmp_path / "adapters")
        path = tmp_path / "adapters" / "adapter_config.json"
        assert json.loads(path.read_text())["base_model_name_or_path"] == str(model)

    save(1, 2)
    before = weights_of(tmp_path / "adapters")
    save(1, 2)
    assert weights_of(tmp_path / "adapters") == before
    if change == "the model below":
        train(model)
    else:
        save(2 if change == "adapters" else 1, 4 if change == "their scale" else 2)
    assert weights_of(tmp_path / "adapters") != before


def test_a_gguf_file_is_known_by_its_weights_in_either_backend(model, tmp_path):
    pytest.importorskip("xllamacpp")
    first = write_gguf(model, tmp_path / "first.gguf")
    copy = shutil.copyfile(first, tmp_path / "copy.gguf")
    train(model)
    second = write_gguf(model, tmp_path / "second.gguf")
    known = [LlamaCppBackend(str(file)).weights for file in (first, copy, second)]
    assert known[0] == known[1] == weights_of(first) != known[2]
