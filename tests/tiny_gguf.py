"""A small Llama as a GGUF file in 8 bits, as llama.cpp reads it."""

from __future__ import annotations

import json
from pathlib import Path

_PARTS = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_NORMAL, _CONTROL, _UNUSED = 1, 3, 5  # kinds of tokens


def write_gguf(model: Path, path: Path) -> Path:
    import gguf
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(model, dtype="float32")
    writer = gguf.GGUFWriter(path, "llama")
    _add_shape(writer, network.config)
    _add_tokenizer(writer, model, network.config.vocab_size)
    for name, weights in _tensors(network):
        eight = gguf.GGMLQuantizationType.Q8_0 if weights.ndim == 2 else None
        data = weights if eight is None else gguf.quants.quantize(weights, eight)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=eight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_shape(writer, config):
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)


def _add_tokenizer(writer, model, size):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    bpe = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    kinds = dict.fromkeys(tokenizer.convert_ids_to_tokens(range(len(tokenizer))), _NORMAL)
    kinds |= dict.fromkeys(tokenizer.added_tokens_encoder, _CONTROL)
    # The network's rows are more than the tokens.
    kinds |= {f"[unused {number}]": _UNUSED for number in range(len(kinds), size)}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(list(kinds))
    writer.add_token_types(list(kinds.values()))
    writer.add_token_merges([" ".join(pair) for pair in bpe["merges"]])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_add_bos_token(False)  # the template writes it
    writer.add_chat_template(tokenizer.chat_template)


def _tensors(network):
    state = {name: value.numpy() for name, value in network.state_dict().items()}
    config = network.config
    yield "token_embd", state["model.embed_tokens.weight"]
    yield "output_norm", state["model.norm.weight"]
    yield "output", state["lm_head.weight"]
    for layer in range(config.num_hidden_layers):
        for theirs, name in _PARTS.items():
            weights = state[f"model.layers.{layer}.{theirs}.weight"]
            if name == "attn_q":
                weights = _interleaved(weights, config.num_attention_heads)
            elif name == "attn_k":
                weights = _interleaved(weights, config.num_key_value_heads)
            yield f"blk.{layer}.{name}", weights


def _interleaved(weights, heads):
    """Put side by side what is turned together: transformers keeps it half a head apart."""
    halves = weights.reshape(heads, 2, weights.shape[0] // heads // 2, weights.shape[1])
    return halves.swapaxes(1, 2).reshape(weights.shape)
