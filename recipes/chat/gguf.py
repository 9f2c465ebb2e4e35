"""Export of a trained chat model as GGUF files: adapters merged, converted, quantised.

The package `gguf` knows names and format. Its converter is a script of llama.cpp's repository that
no package brings, so the two shapes that the recipes train, Llama's and Qwen2's, are converted
here. ggml itself quantises, out of xllamacpp's library.
"""

import ctypes
import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.files.atomic import written_whole

from .model import load_merged
from .settings import Quantised

Floats = NDArray[np.float32]

_PACKAGES = ("gguf", "peft", "torch", "transformers", "xllamacpp")
_NORMAL, _CONTROL, _USER_DEFINED, _UNUSED = 1, 3, 4, 5  # kinds of tokens
# What llama.cpp calls the way a tokenizer cuts text before its merges, by what is particular to it.
_CUTS = {
    r"\p{N}{1,3}| ?": "llama-bpe",
    r"\p{N}| ?": "qwen2",
    '"Digits", "individual_digits": true': "smollm",
    '"use_regex": true': "gpt-2",
}
_SUPER = 256  # weights of a block of K-quants; rows of another length take the type beside
_PLAIN = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0"}


class CannotExport(MoonlynxError, ValueError):
    """A model that cannot be written as GGUF; says why."""


def export(run: Path, kinds: Sequence[Quantised], output: Path) -> list[Path]:
    """Write the model of a run, or of a folder, as a GGUF file of each kind into `output`.

    Raises:
        MissingExtra: a package is missing.
        BaseNotUsable: the model, or the base of its adapters, is not available.
        CannotExport: its shape or its tokenizer is not supported.
    """
    if any(find_spec(name) is None for name in _PACKAGES):
        raise MissingExtra("export to GGUF", "train,transformers,llamacpp")
    folder = run / "model" if (run / "model").is_dir() else run
    network, tokenizer = load_merged(folder)
    output.mkdir(parents=True, exist_ok=True)
    paths = [output / f"{run.resolve().name}-{kind}.gguf" for kind in kinds]
    for kind, path in zip(kinds, paths, strict=True):
        with written_whole(path) as draft:
            _write(network, tokenizer, folder, kind, draft)
    return paths


def _write(network: Any, tokenizer: Any, folder: Path, kind: Quantised, path: Path) -> None:
    import gguf

    config = network.config
    if config.model_type not in ("llama", "qwen2"):
        raise CannotExport(
            f"models of type {config.model_type} are not exported, only llama and qwen2; merge the "
            "adapters and use convert_hf_to_gguf.py of llama.cpp"
        )
    writer = gguf.GGUFWriter(path, config.model_type)
    _add_shape(writer, config)
    writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind.name}"])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    _add_tokenizer(writer, tokenizer, folder, config.vocab_size)
    quantise = _load_quantiser()
    for name, weights in _tensors(network):
        quant = None if weights.ndim == 1 else _type_of(name, kind, config)
        if quant is None:
            writer.add_tensor(name, weights)
            continue
        if weights.shape[1] % _SUPER:
            quant = _PLAIN.get(quant, quant)
        raw_type = gguf.GGMLQuantizationType[quant]
        row = gguf.quants.quant_shape_to_byte_shape((weights.shape[1],), raw_type)[0]
        written = np.empty((len(weights), row), dtype=np.uint8)
        quantise(int(raw_type), weights.ctypes.data, written.ctypes.data, 0, *weights.shape, None)
        writer.add_tensor(name, written, raw_dtype=raw_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _load_quantiser() -> Any:
    """Return ggml_quantize_chunk(type, from, to, start, rows, columns, importance)."""
    import xllamacpp

    try:
        found = ctypes.CDLL(xllamacpp.xllamacpp.__file__).ggml_quantize_chunk
    except (AttributeError, OSError) as error:
        raise CannotExport(f"this build of xllamacpp does not show ggml: {error}") from error
    number, address = ctypes.c_int64, ctypes.c_void_p
    found.argtypes = (ctypes.c_int, address, address, number, number, number, address)
    found.restype = ctypes.c_size_t
    return found


def _add_shape(writer: Any, config: Any) -> None:
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(_head_size(config))
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)


def _head_size(config: Any) -> int:
    return int(getattr(config, "head_dim", 0) or config.hidden_size // config.num_attention_heads)


def _add_tokenizer(writer: Any, tokenizer: Any, folder: Path, size: int) -> None:
    import gguf

    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    cut = json.dumps(parts["pre_tokenizer"], ensure_ascii=False).replace("\\\\", "\\")
    name = next((name for mark, name in _CUTS.items() if mark in cut), None)
    if parts["model"]["type"] != "BPE" or "ByteLevel" not in cut or name is None:
        raise CannotExport(
            f"the tokenizer of {folder} is not exported, only the byte-level BPE of Llama 3, "
            "Qwen 2, SmolLM and GPT-2; use convert_hf_to_gguf.py of llama.cpp"
        )
    kinds = dict.fromkeys(tokenizer.convert_ids_to_tokens(range(len(tokenizer))), _NORMAL)
    for token in tokenizer.added_tokens_decoder.values():
        kinds[token.content] = _CONTROL if token.special else _USER_DEFINED
    # A network may have more rows than there are tokens.
    kinds |= {f"[unused {number}]": _UNUSED for number in range(len(kinds), size)}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name)
    writer.add_token_list(list(kinds))
    writer.add_token_types(list(kinds.values()))
    writer.add_token_merges([" ".join(pair) for pair in parts["model"]["merges"]])
    for role in gguf.SpecialVocab(folder).special_token_types:
        if (number := getattr(tokenizer, f"{role}_token_id", None)) is not None:
            getattr(writer, f"add_{role}_token_id")(number)
    writer.add_add_bos_token(False)  # the template writes it
    writer.add_chat_template(tokenizer.chat_template)


def _tensors(network: Any) -> Iterator[tuple[str, Floats]]:
    """Yield names and weights as llama.cpp has them; a tied output layer is left out."""
    import gguf

    config = network.config
    shape = gguf.MODEL_ARCH[config.model_type.upper()]
    names = gguf.get_tensor_name_map(shape, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    yield from _scaled_rope(network)
    for key, value in network.state_dict().items():
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        weights = value.float().numpy()
        owner, part = key.split(".")[-2:]
        if config.model_type == "llama" and owner in heads:
            weights = _interleaved(weights, heads[owner])
        yield (
            f"{names.get_name(key.removesuffix(f'.{part}'))}.{part}",
            np.ascontiguousarray(weights),
        )


def _interleaved(weights: Floats, heads: int) -> Floats:
    """Put side by side what is turned together: Transformers has it half a head apart."""
    halves = weights.reshape(heads, 2, len(weights) // heads // 2, *weights.shape[1:])
    return halves.swapaxes(1, 2).reshape(weights.shape)


def _scaled_rope(network: Any) -> Iterator[tuple[str, Floats]]:
    """Yield by what each frequency is divided where Llama 3.1's scaling changes them."""
    kind = network.config.rope_parameters["rope_type"]
    if kind == "default":
        return
    if kind != "llama3":
        raise CannotExport(f"positions scaled by {kind} are not exported, only by llama3")
    scaled = network.model.rotary_emb.inv_freq.float().numpy()
    theta = network.config.rope_parameters["rope_theta"]
    plain = theta ** -(np.arange(len(scaled), dtype=np.float32) / len(scaled))
    yield "rope_freqs.weight", (plain / scaled).astype(np.float32)


def _type_of(name: str, kind: Quantised, config: Any) -> str:
    """Return ggml's type of a matrix, as llama.cpp mixes them in a file of that kind."""
    if kind is Quantised.Q8_0:
        return "Q8_0"
    if name == "output.weight" or (name == "token_embd.weight" and config.tie_word_embeddings):
        return "Q6_K"
    if name.endswith(("attn_v.weight", "ffn_down.weight")):
        layer, layers = int(name.split(".")[1]), config.num_hidden_layers
        eighth = layers // 8
        if layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2:
            return "Q6_K"
    return "Q4_K" if kind is Quantised.Q4_K_M else "Q5_K"
