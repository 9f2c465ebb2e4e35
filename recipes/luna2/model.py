"""The backbone with a fresh adapter: loaded whole or in nf4, frozen except the low-rank parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moonlynx.judge.backends.pretrained import can_see, load_causal
from moonlynx.judge.contract.types import MoonlynxError

from .settings import Pretrain, Run


class BackboneNotUsable(MoonlynxError):
    """The model to train on cannot be loaded, or has none of the layers that adapters go on."""


def on_cpu(run: Run) -> bool:
    """Return whether the run is on the CPU, which transformers must know before it takes bf16."""
    import torch

    return run.device == "cpu" or not torch.cuda.is_available()


def run_trainer(trainer: Any, folder: Path) -> float:
    """Train, resuming from the last checkpoint in `folder`; return the seconds since this start."""
    from transformers.trainer_utils import get_last_checkpoint

    last = get_last_checkpoint(str(folder)) if folder.is_dir() else None
    result = trainer.train(resume_from_checkpoint=last)
    return float(result.metrics["train_runtime"])


def common_arguments(
    run: Run, speed: Run | Pretrain, at_once: int, folder: Path, items: int
) -> dict[str, Any]:
    """Return the arguments of transformers' trainer over so many rows or blocks of text.

    Checkpoints go to `folder`; `at_once` of a batch are computed at a time.
    """
    steps = max(1, round(speed.epochs * -(-items // speed.batch)))
    return {
        "output_dir": str(folder),
        "per_device_train_batch_size": at_once,
        "gradient_accumulation_steps": speed.batch // at_once,
        "num_train_epochs": speed.epochs,
        "learning_rate": speed.learning_rate,
        "weight_decay": speed.weight_decay,
        "warmup_steps": round(speed.warmup * steps),
        "optim": "adamw_torch",
        "bf16": run.precision == "bf16",
        "use_cpu": on_cpu(run),
        "save_total_limit": 1,
        "remove_unused_columns": False,
        "report_to": "none",
        "disable_tqdm": True,
        "seed": run.seed,
    }


def load_with_adapter(run: Run, folder: Path) -> Any:
    """Load the backbone and put an adapter on it, new or a head's; nothing else is trained.

    Raises:
        BackboneNotUsable: it cannot be loaded, or takes no such adapter.
    """
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import BitsAndBytesConfig

    dtype = torch.bfloat16 if run.precision == "bf16" else torch.float32
    options: dict[str, Any] = {"dtype": dtype, "attn_implementation": run.attention}
    if run.load == "nf4":
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
        )
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
