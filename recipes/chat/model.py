"""The chat model that is trained: loaded whole or in nf4, with or without adapters."""

import logging
from functools import lru_cache
from pathlib import Path
from typing import Any

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.gguf import is_gguf
from moonlynx.judge.backends.hub import is_on_hub
from moonlynx.judge.backends.local import find_folder
from moonlynx.judge.backends.pretrained import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    half_is_slow,
    has_adapters,
    load_adapted,
    load_causal,
    nf4,
    source_of,
    tokenizer_source,
)
from moonlynx.judge.contract.types import MoonlynxError

from ..runs import SettingsError
from .settings import Run

log = logging.getLogger(__name__)
_TOKENIZER_FILES = ("tokenizer*", "special_tokens_map.json", "chat_template*", "vocab*", "merges*")
_ADAPTER_FILES = (ADAPTER_CONFIG, ADAPTER_WEIGHTS, *_TOKENIZER_FILES)
_PAD = ("<|finetune_right_pad_id|>", "<|reserved_special_token_0|>", "<pad>", "[PAD]")


class BaseNotUsable(MoonlynxError):
    """The model to start from is not available, or cannot be trained as a chat model."""


def load_tokenizer(run: Run) -> Any:
    """Load the base's tokenizer, with a padding token that is no end of a turn.

    Raises:
        BaseNotUsable: it is not available, or has no chat template.
    """
    from transformers import AutoTokenizer

    try:
        folder = find_adapters(run)
        source = find_source(run, run.base) if folder is None else tokenizer_source(str(folder))
        tokenizer = AutoTokenizer.from_pretrained(**source)
    except (OSError, ValueError, BackendError) as error:
        raise BaseNotUsable(f"base: cannot load the tokenizer of {run.base}: {error}") from None
    if tokenizer.chat_template is None:
        raise BaseNotUsable(f"base: {run.base} has no chat template; name its instruct form")
    if tokenizer.pad_token is None or tokenizer.pad_token == tokenizer.eos_token:
        # The end of a reply is learned; were it the padding too, its loss would be masked.
        known = tokenizer.get_vocab()
        tokenizer.pad_token = next((t for t in _PAD if t in known), tokenizer.eos_token)
    return tokenizer


def find_source(run: Run, name: str) -> dict[str, Any]:
    """Return what tells Transformers' `from_pretrained` where a run's model is.

    A GGUF file is downloaded whole; of a model of the Hub each caller fetches what it reads.

    Raises:
        BackendError: there is no such GGUF file.
    """
    if is_gguf(name):
        return source_of(_at_revision(run, name))
    return {
        "pretrained_model_name_or_path": name,
        "revision": _revision(run, name),
        "trust_remote_code": False,
    }


def _at_revision(run: Run, name: str) -> str:
    revision = _revision(run, name)
    return f"{name}@{revision}" if revision and is_on_hub(name) else name


def _revision(run: Run, name: str) -> str | None:
    """Return the revision, which is the base's: not that of a model which the base is for."""
    return run.revision if name == run.base else None


def find_adapters(run: Run) -> Path | None:
    """Return the folder of the adapters that the base is; None where it is a whole model.

    Raises:
        BaseNotUsable: it is of the Hub, and cannot be asked for.
    """
    if is_gguf(run.base):
        return None
    folder = Path(run.base)
    if is_on_hub(run.base):
        folder = _of_the_hub(_at_revision(run, run.base))
    return folder if has_adapters(folder) else None


@lru_cache(1)  # what a branch of the Hub has may change, under the feet of a run that asks anew
def _of_the_hub(name: str) -> Path:
    try:
        return find_folder("training", name, _ADAPTER_FILES)
    except BackendError as error:
        raise BaseNotUsable(f"base: {error}") from None


def whole_base(run: Run) -> str:
    """Return the model that the base is, or that it is adapters on.

    Raises:
        BaseNotUsable: the adapters cannot be read.
        SettingsError: the run does not fit them.
    """
    if (folder := find_adapters(run)) is None:
        return run.base
    from peft import LoraConfig, PeftConfig

    if run.lora is None or run.preference is not None:
        raise SettingsError(
            f"base: {folder} holds adapters, which only a run of the method lora or qlora without "
            "a preference goes on with; name a whole model"
        )
    try:
        held = PeftConfig.from_pretrained(str(folder))
    except (OSError, ValueError, KeyError) as error:
        raise BaseNotUsable(f"base: cannot read the adapters in {folder}: {error}") from None
    if not isinstance(held, LoraConfig):
        raise BaseNotUsable(f"base: the adapters in {folder} are no LoRA's; name a whole model")
    layers: Any = held.layers_to_transform
    found: dict[str, Any] = {
        "rank": held.r,
        "alpha": held.lora_alpha,
        "dropout": held.lora_dropout,
        "layers": layers and len(layers),
    }
    wanted = run.lora.model_dump()
    if run.lora.targets != "all-linear":
        found["targets"], wanted["targets"] = (
            sorted(held.target_modules or ()),
            sorted(run.lora.targets),
        )
    for name, value in found.items():
        if wanted[name] != value:
            value = "null" if value is None else value  # as YAML has it
            raise SettingsError(f"lora.{name}: write {value}, as the adapters in {folder} have")
    return str(held.base_model_name_or_path)


def as_computed(run: Run) -> Run:
    """Return the run in the precision that it has here: fp32 for bf16 on a CPU that lacks it."""
    if run.precision == "bf16" and run.hardware.gpus == 0 and half_is_slow():
        return run.model_copy(update={"precision": "fp32"})
    return run


def load_model(run: Run) -> Any:
    """Load the base for training; adapters that it holds are trained on.

    Raises:
        BaseNotUsable: its weights are not available.
        SettingsError: they are adapters that the run does not fit.
    """
    import torch

    half = as_computed(run).precision == "bf16"
    if run.precision == "bf16" and not half:
        log.warning(
            "this processor has no instructions for bf16: trained in fp32, in twice the memory and "
            "several times as fast; `precision: fp32` says the same"
        )
    # Frozen weights are halved; what is trained keeps full precision.
    dtype = torch.bfloat16 if half and run.method != "full" else torch.float32
    options: dict[str, Any] = {"dtype": dtype, "attn_implementation": run.attention}
    if run.method == "qlora":
        options["quantization_config"] = nf4(dtype)
    base = whole_base(run)
    try:
        network = load_causal(_at_revision(run, base), **options)
    except (OSError, ValueError, ImportError, BackendError) as error:
        raise BaseNotUsable(f"base: cannot load {run.base}: {error}") from None
    network.name_or_path = base  # which adapters keep: not the folder that it was downloaded to
    if (folder := find_adapters(run)) is not None:
        from peft import PeftModel

        return PeftModel.from_pretrained(network, folder, is_trainable=True)
    return network


def load_merged(folder: Path) -> tuple[Any, Any]:
    """Load a trained model in fp32, its adapters merged into their base, and its tokenizer.

    Raises:
        BaseNotUsable: there is no model, no base of its adapters, or no chat template.
    """
    import torch
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(**tokenizer_source(str(folder)))
        if has_adapters(folder):
            network = load_adapted(folder, dtype=torch.float32).merge_and_unload()
        else:
            network = load_causal(str(folder), dtype=torch.float32)
    except (OSError, ValueError, BackendError) as error:
        raise BaseNotUsable(f"cannot load the model in {folder}: {error}") from None
    if tokenizer.chat_template is None:
        raise BaseNotUsable(f"{folder} has no chat template; name the folder of a chat model")
    return network, tokenizer


def adapted_layers(run: Run, depth: int) -> int:
    """Return how many of the base's layers, from the topmost down, are trained.

    Raises:
        SettingsError: the run asks for more than there are.
    """
    layers = run.lora and run.lora.layers
    if layers and layers > depth:
        raise SettingsError(f"lora.layers: {layers} is more than the {depth} layers of {run.base}")
    return layers or depth


def adapters(run: Run, depth: int) -> Any:
    """Return PEFT's configuration of the adapters that a run makes; None where it makes none.

    Args:
        run: the run.
        depth: the layers of its base.

    Raises:
        SettingsError: the adapters are for more layers than the base has.
        BaseNotUsable: as of `find_adapters`.
    """
    if run.lora is None or find_adapters(run) is not None:
        return None
    from peft import LoraConfig

    targets, first = run.lora.targets, depth - adapted_layers(run, depth)
    chosen = None if run.lora.layers is None else list(range(first, depth))
    return LoraConfig(
        r=run.lora.rank,
        lora_alpha=run.lora.alpha,
        lora_dropout=run.lora.dropout,
        target_modules=targets if isinstance(targets, str) else list(targets),
        layers_to_transform=chosen,
        task_type="CAUSAL_LM",
    )
