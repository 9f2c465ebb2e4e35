"""Tiny encoders with support heads and random weights: every part of a real one."""

from __future__ import annotations

import numpy as np

VOCABULARY = 2_500  # as many as make a table of words worth quantising
POSITIONS = 64

_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 66,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": POSITIONS,
    "initializer_range": 0.2,
    "pad_token_id": 0,
}
_KINDS = {
    "bert": {"type_vocab_size": 2},
    "modernbert": {"global_attn_every_n_layers": 2, "local_attention": 8},
    "deberta-v2": {
        "type_vocab_size": 0,
        "relative_attention": True,
        "position_buckets": 16,
        "pos_att_type": ["p2c", "c2p"],
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "position_biased_input": False,
    },
    "mpnet": {
        "max_position_embeddings": POSITIONS + 2,  # counted from 2
        "marks_layer": 1,
    },
}


def build_tiny_encoder(folder, kind="bert"):
    import torch
    from transformers import AutoConfig

    from moonlynx.judge.backends.torch_encoder import make_network, save_network

    config = AutoConfig.for_model(kind, **_SIZES | _KINDS[kind])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = make_network(config)
        torch.nn.init.normal_(network.claim.weight)
        torch.nn.init.normal_(network.tokens.weight)
        torch.nn.init.normal_(network.marks.weight)
    save_network(network, folder)
    return folder


def random_inputs(count, seed=0):
    rng = np.random.default_rng(seed)
    inputs = []
    for length in rng.integers(3, POSITIONS + 1, count):
        types = np.zeros(length, dtype=np.int64)
        types[rng.integers(1, length) :] = 1
        inputs.append((rng.integers(1, VOCABULARY, length), types))
    return inputs
