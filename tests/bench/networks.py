"""The networks that are measured: their shapes, and the mini model with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moonlynx.judge.backends.torch_encoder import load_network, make_network, save_network
from moonlynx.judge.judges.luna.config import CONFIG_FILE, LunaConfig
from moonlynx.judge.judges.luna.weights import TOKENIZER

from .products import Products, Shape, count_products
from .texts import make_tokenizer


def mini_config() -> Any:
    """Return the config of all-MiniLM-L6-v2, 22M parameters: the shape of luna:mini."""
    from transformers import BertConfig

    return BertConfig(
        vocab_size=30_522,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1_536,
    )


_ETTIN = {  # hidden size, layers, heads, intermediate size
    "17M": (256, 7, 4, 384),
    "149M": (768, 22, 12, 1_152),
}


def write_ettin(folder: Path, tokenizer: str, size: str = "17M") -> None:
    """Write a token classifier on one of Ettin's encoders, which have ModernBERT's shapes.

    Args:
        folder: for the model, whose weights are random, and its tokenizer.
        tokenizer: the JSON of one with BERT's special tokens.
        size: TinyLettuce's smallest base, or that of LettuceDetect's base model.
    """
    from tokenizers import Tokenizer
    from transformers import (
        ModernBertConfig,
        ModernBertForTokenClassification,
        PreTrainedTokenizerFast,
    )
    from transformers.utils import logging

    logging.disable_progress_bar()
    hidden, layers, heads, intermediate = _ETTIN[size]
    config = ModernBertConfig(
        vocab_size=50_368,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=intermediate,
        num_labels=2,
    )
    ModernBertForTokenClassification(config).save_pretrained(folder)
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer), **special)
    words.save_pretrained(folder)


def large_config() -> Any:
    """Return the config of DeBERTa-v3-large, the paper's encoder, as its authors published it."""
    from transformers import DebertaV2Config

    return DebertaV2Config(
        vocab_size=128_100,
        hidden_size=1_024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4_096,
        max_position_embeddings=512,
        type_vocab_size=0,
        relative_attention=True,
        position_buckets=256,
        max_relative_positions=-1,
        pos_att_type=["p2c", "c2p"],
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        position_biased_input=False,
        layer_norm_eps=1e-7,
    )


def write_random(folder: Path) -> None:
    """Write a whole weights folder in torch form: the mini model's shape, random weights."""
    save_network(make_network(mini_config()), folder)
    make_tokenizer(folder / TOKENIZER)
    config = LunaConfig(version="random", lead=40, claim=80)
    (folder / CONFIG_FILE).write_text(config.model_dump_json(indent=2), encoding="utf-8")


def describe(folder: Path, width: int) -> tuple[Shape, Products]:
    """Return the shape of a network in torch form, and the products of one input of that width."""
    network = load_network(folder)
    config = network.trunk.config
    shape = Shape(config.hidden_size, config.intermediate_size, config.num_attention_heads)
    return shape, count_products(network, 1, width)
