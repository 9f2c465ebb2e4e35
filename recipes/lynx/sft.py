"""Fine-tuning of Lynx: rows with traces in, a judge's weights out."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from moonlynx.eval.provenance import git_commit, versions
from moonlynx.halubench.records import QARow
from moonlynx.judge.files.stored import save_record

from ..hardware import estimate_energy, find_hardware
from ..runs import SettingsError, claim_folder
from .chats import Chat, NothingToTrainOn, fit
from .model import adapters, load_model, load_tokenizer
from .record import RECORD_FILE, TrainingRecord, count_sources
from .settings import Run

log = logging.getLogger(__name__)
MODEL = "model"
TRACKERS = ("none", "tensorboard", "wandb")  # except the first, names of packages as well


def train(
    run: Run,
    rows: Sequence[QARow],
    validation: Sequence[QARow],
    out: Path,
    tracker: str = "none",
) -> TrainingRecord:
    """Train, resuming from the last checkpoint in `out`, and save the model to `out/model`.

    Adapters are saved as adapters. The loss on the validation rows, of which there may be none, is
    measured after each epoch; the tracker is one of `TRACKERS`.

    Raises:
        SettingsError: `out` holds another run, the warm-up is longer than the run, or the tracker
            is not installed.
        NothingToTrainOn: no row is short enough, or has a counterpart where one is needed.
        BadInput: a row has no label or no reasoning.
        BaseNotUsable: the base is not available.
    """
    if tracker != "none" and find_spec(tracker) is None:
        raise SettingsError(f"log-to: {tracker} is not installed; pip install {tracker}")
    from transformers.trainer_utils import get_last_checkpoint

    claim_folder(out, run)
    tokenizer = load_tokenizer(run)
    fitting = fit(rows, run, tokenizer)
    measured = fit(validation, run, tokenizer).chats
    if not fitting.chats:
        raise NothingToTrainOn(
            f"none of {len(rows)} rows can be trained on within {run.max_length} tokens"
        )
    if run.warmup_steps >= (steps := run.steps(len(fitting.chats))):
        raise SettingsError(
            f"warmup_steps: {run.warmup_steps} is no less than the {steps} steps of the run; "
            "lower it, or make batch smaller"
        )
    log.info("%d rows, %d left out as too long", len(fitting.chats), len(fitting.too_long))
    arguments = arguments_of(run, out, measured=bool(measured), tracker=tracker)
    trainer = build_trainer(run, tokenizer, fitting.chats, measured, arguments)
    result = trainer.train(resume_from_checkpoint=get_last_checkpoint(str(out)))
    if trainer.is_fsdp_enabled:
        # Checkpoints are in shards; the model that is judged with has to be whole.
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    trainer.save_model(str(out / MODEL))
    # A pickle of the settings, which the folder's readers need not trust: run.json has them.
    (out / MODEL / "training_args.bin").unlink(missing_ok=True)
    history = trainer.state.log_history
    seconds = float(result.metrics["train_runtime"])
    hardware = find_hardware()
    record = TrainingRecord(
        base=run.base,
        rows=len(fitting.chats),
        too_long=len(fitting.too_long),
        validation=len(measured),
        steps=trainer.state.global_step,
        seconds=seconds,
        losses=tuple(entry["loss"] for entry in history if "loss" in entry),
        validation_losses=tuple(entry["eval_loss"] for entry in history if "eval_loss" in entry),
        sources=count_sources(rows),
        hardware=hardware,
        energy=estimate_energy(hardware, seconds),
        date=datetime.datetime.now(datetime.UTC).date(),
        commit=git_commit(),
        versions=versions("torch", "transformers", "trl", "peft"),
    )
    if trainer.accelerator.is_main_process:
        save_record(record, out / RECORD_FILE)
    return record


def build_trainer(
    run: Run,
    tokenizer: Any,
    chats: Sequence[Chat],
    measured: Sequence[Chat],
    arguments: Mapping[str, Any],
) -> Any:
    """Return TRL's trainer for the run's kind of chats."""
    from datasets import Dataset
    from trl.trainer.dpo_config import DPOConfig
    from trl.trainer.dpo_trainer import DPOTrainer
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    common = {
        "model": load_model(run),
        "train_dataset": Dataset.from_list(list(chats)),
        "eval_dataset": Dataset.from_list(list(measured)) if measured else None,
        "processing_class": tokenizer,
        "peft_config": adapters(run),
    }
    if run.preference is None:
        return SFTTrainer(args=SFTConfig(completion_only_loss=True, **arguments), **common)
    return DPOTrainer(args=DPOConfig(beta=run.preference.beta, **arguments), **common)


def arguments_of(run: Run, out: Path, *, measured: bool, tracker: str) -> dict[str, Any]:
    """Return the run's settings as TRL's arguments."""
    sharded = run.method == "full" and run.processes > 1
    return {
        "output_dir": str(out),
        "max_length": run.max_length,
        "per_device_train_batch_size": run.rows_at_once,
        "per_device_eval_batch_size": run.rows_at_once,
        "gradient_accumulation_steps": run.accumulate,
        "num_train_epochs": run.epochs,
        "learning_rate": run.learning_rate,
        "optim": run.optimizer,
        "adam_beta1": run.betas[0],
        "adam_beta2": run.betas[1],
        "weight_decay": run.weight_decay,
        "max_grad_norm": run.clip,
        "warmup_steps": run.warmup_steps,
        "lr_scheduler_type": "cosine_with_min_lr",
        "lr_scheduler_kwargs": {"min_lr_rate": run.min_lr_rate},
        "bf16": run.precision == "bf16",
        # Sharding has checkpoints of its own, see the accelerate configurations.
        "gradient_checkpointing": run.checkpointing and not sharded,
        "use_cpu": run.hardware.gpus == 0,
        "eval_strategy": "epoch" if measured else "no",
        "save_strategy": "epoch",
        "save_total_limit": 1,
        "logging_steps": 1,
        "report_to": tracker,
        "seed": run.seed,
    }
