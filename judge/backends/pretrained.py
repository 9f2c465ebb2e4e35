"""Loading a model's weights by Hugging Face Transformers, in 32, 16, 8 or 4 bits."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)
DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("auto", "fp32", "bf16", "fp16", "int8", "nf4")


def load_weights(model: str, device: str, load: str) -> Any:
    """Load a causal language model from safetensors, running no code of its own.

    Args:
        model: a folder or a Hub id.
        device: one of DEVICES; "auto" spreads the model over all GPUs where there are any.
        load: one of PRECISIONS; "auto" is the checkpoint's own. On a processor where half
            precision is slow, "nf4" multiplies in fp32, and one of 16 bits is warned of.
    """
    import torch
    from transformers import BitsAndBytesConfig

    on_gpu = device != "cpu" and torch.cuda.is_available()
    half = torch.float16 if on_gpu and not torch.cuda.is_bf16_supported() else torch.bfloat16
    slow = not on_gpu and half_is_slow()
    settings: dict[str, dict[str, Any]] = {
        "auto": {"dtype": "auto"},
        "fp32": {"dtype": torch.float32},
        "bf16": {"dtype": torch.bfloat16},
        "fp16": {"dtype": torch.float16},
        # bitsandbytes multiplies its int8 weights with fp16 activations.
        "int8": {
            "dtype": torch.float16,
            "quantization_config": BitsAndBytesConfig(load_in_8bit=True),
        },
        "nf4": {
            "dtype": half,
            "quantization_config": BitsAndBytesConfig(
                load_in_4bit=True,
                bnb_4bit_quant_type="nf4",
                bnb_4bit_use_double_quant=True,
                bnb_4bit_compute_dtype=torch.float32 if slow else half,
            ),
        },
    }
    place: str | dict[str, str] = {"": "cuda:0" if on_gpu else "cpu"}
    if on_gpu and device == "auto":
        place = "auto"
    network = load_causal(model, device_map=place, **settings[load])
    if slow and load not in ("int8", "nf4") and network.dtype.itemsize < 4:
        log.warning(
            "%s: this processor has no instructions for 16 bits; load=fp32 reads prompts several "
            "times as fast, in twice the memory",
            model,
        )
    return network


def half_is_slow() -> bool:
    """Return whether bf16 or fp16 products take several times as long as fp32 on this processor."""
    import torch

    return torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2")


def load_causal(model: str | Path, **options: Any) -> Any:
    """Load a causal language model from safetensors, running no code of its own.

    A multimodal one (as Ministral 3 is) is loaded whole: the names in its checkpoint are
    those of the whole.

    Args:
        model: a folder or a Hub id.
        options: for Transformers' `from_pretrained`.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

    config = AutoConfig.from_pretrained(model, trust_remote_code=False)
    kind = AutoModelForImageTextToText if can_see(config) else AutoModelForCausalLM
    return kind.from_pretrained(model, use_safetensors=True, trust_remote_code=False, **options)


def can_see(config: Any) -> bool:
    """Return whether a model of this configuration reads more than text."""
    return config.get_text_config() is not config
