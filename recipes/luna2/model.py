"""The backbone with a fresh adapter: loaded whole or in nf4, frozen except the low-rank parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moonlynx.judge.backends.pretrained import can_see, load_causal, nf4
from moonlynx.judge.contract.types import MoonlynxError

from .settings import Run


class BackboneNotUsable(MoonlynxError):
    """The model to train on cannot be loaded, or has none of the layers that adapters go on."""


def load_with_adapter(run: Run, folder: Path) -> Any:
    """Load the backbone and put an adapter on it, new or a head's; nothing else is trained.

    Raises:
        BackboneNotUsable: it cannot be loaded, or takes no such adapter.
    """
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model

    dtype = torch.bfloat16 if run.precision == "bf16" else torch.float32
    options: dict[str, Any] = {"dtype": dtype, "attn_implementation": run.attention}
    if run.load == "nf4":
        options["quantization_config"] = nf4(dtype)
    try:
        model = load_causal(folder, **options)
        if run.checkpointing:
            model.enable_input_require_grads()  # or frozen embeddings would end the gradient
        if run.head is not None:
            return PeftModel.from_pretrained(model, run.head, is_trainable=True)
        adapter = LoraConfig(
            r=run.lora.rank,
            lora_alpha=run.lora.alpha,
            lora_dropout=run.lora.dropout,
            target_modules=_targets(model, run),
            task_type="CAUSAL_LM",
        )
        torch.manual_seed(run.seed)
        return get_peft_model(model, adapter)
    except (OSError, ValueError, ImportError) as error:
        raise BackboneNotUsable(f"backbone: cannot train on {folder}: {error}") from None


def _targets(model: Any, run: Run) -> list[str] | str:
    """Return the modules that take a low-rank part: those that read text."""
    names = list(run.lora.targets)
    return rf".*\.language_model\..*\.({'|'.join(names)})" if can_see(model.config) else names
