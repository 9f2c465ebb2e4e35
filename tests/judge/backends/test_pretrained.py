import logging

import pytest

from moonlynx.judge.backends.pretrained import half_is_slow, load_weights

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
