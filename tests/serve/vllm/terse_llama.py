"""The tiny Llama, led to be brief: held to Lynx's schema, it gives a dot for a reason, and a score.

With its random weights alone it would write on within a string until its tokens are used up. So one
element of every embedding is the same large number, which the blocks hardly change, and in the
output layer what closes lists and strings weighs on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...tiny_llama import build_tiny_llama

_CLOSING = {'."': 12.0, "]": 11.0, '"': 10.0}


def build_terse_llama(folder: Path, closing: Mapping[str, float] = _CLOSING) -> Path:
    """Save the model and return its folder; `closing` has the weight of each token that closes."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    build_tiny_llama(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = 20.0
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight *= 0.02
            layer.mlp.down_proj.weight *= 0.02
        for word, token in tokenizer.get_vocab().items():
            # White space stays behind what closes.
            model.lm_head.weight[token, 0] = closing.get(word, 0.0)
    model.save_pretrained(folder)
    return folder
