"""Fine-tuning of a chat model with TRL: chats in, weights out."""

import datetime
import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moonlynx.eval.provenance import git_commit, versions
from moonlynx.judge.files.stored import save_record

from ..hardware import estimate_energy, find_hardware
from ..runs import SettingsError
from .fitting import Chat, Fitting, NothingToTrainOn
from .model import adapters, as_computed, find_adapters, load_model
from .record import RECORD_FILE, SourceRecord, TrainingRecord, read_record
from .settings import Run
from .stopwatch import stopwatch_class

log = logging.getLogger(__name__)
MODEL = "model"
TRACKERS = ("none", "tensorboard", "wandb")  # except the first, names of packages as well


def tune(
    run: Run,
    tokenizer: Any,
    fitting: Fitting,
    measured: Sequence[Chat],
    sources: tuple[SourceRecord, ...],
    out: Path,
    tracker: str = "none",
) -> TrainingRecord:
    """Train on chats, resuming from the last checkpoint in `out`, and save `out/model`.

    The loss on the `measured` chats, if any, is computed after each epoch. The `sources` of the
    rows that the chats were written from go to the record; `tracker` is one of `TRACKERS`.

    Raises:
        NothingToTrainOn: there are no chats.
        SettingsError: the warm-up is longer than the run.
        RecordError: the run goes on from adapters whose record is broken.
    """
    from transformers.trainer_utils import get_last_checkpoint

    given = sum(source.passes + source.fails for source in sources)
    if not fitting.chats:
        raise NothingToTrainOn(
            f"none of {given} rows can be trained on within {run.max_length} tokens"
        )
    if run.warmup_steps >= (steps := run.steps(len(fitting.chats))):
        raise SettingsError(
            f"warmup_steps: {run.warmup_steps} is no less than the {steps} steps of the run; "
            "lower it, or make batch smaller"
        )
    before = read_before(run)
    log.info("%d rows, %d left out as too long", len(fitting.chats), len(fitting.too_long))
    arguments = arguments_of(run, out, measured=bool(measured), tracker=tracker)
    trainer = build_trainer(run, tokenizer, fitting.chats, measured, arguments)
    stopwatch = stopwatch_class()
    trainer.add_callback(stopwatch)
    # PEFT looks for the configuration of the base where a checkpoint is saved, and warns where that
    # is a GGUF file, or of the Hub and there is no network. What it would see there holds.
    warnings.filterwarnings("ignore", message=".*will assume that the vocabulary was not modified")
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(out)))
    # The one of a checkpoint takes the place of the one given.
    callbacks = trainer.callback_handler.callbacks
    seconds: float = next(each.seconds for each in callbacks if isinstance(each, stopwatch))
    if trainer.is_fsdp_enabled:
        # Checkpoints are in shards; the model that is judged with has to be whole.
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    trainer.save_model(str(out / MODEL))
    # A pickle of the settings, which the folder's readers need not trust: run.json has them.
    (out / MODEL / "training_args.bin").unlink(missing_ok=True)
    history = trainer.state.log_history
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
        sources=sources,
        hardware=hardware,
        energy=estimate_energy(hardware, seconds),
        date=datetime.datetime.now(datetime.UTC).date(),
        commit=git_commit(),
        versions=versions("torch", "transformers", "trl", "peft"),
        before=before,
    )
    if trainer.accelerator.is_main_process:
        save_record(record, out / RECORD_FILE)
    return record


def read_before(run: Run) -> TrainingRecord | None:
    """Read the record of the run whose adapters this one goes on from; None where there is none."""
    if (adapted := find_adapters(run)) is None:
        return None
    if (adapted.parent / RECORD_FILE).is_file():
        return read_record(adapted.parent)
    log.warning(
        "base: beside the adapters in %s there is no %s: the record of this run will not say what "
        "they had read, nor under which licences",
        run.base,
        RECORD_FILE,
    )
    return None


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

    network = load_model(run)
    common = {
        "model": network,
        "train_dataset": Dataset.from_list(list(chats)),
        "eval_dataset": Dataset.from_list(list(measured)) if measured else None,
        "processing_class": tokenizer,
        "peft_config": adapters(run, network.config.num_hidden_layers),
    }
    if run.preference is not None:
        return DPOTrainer(args=DPOConfig(beta=run.preference.beta, **arguments), **common)
    trainer: type[SFTTrainer] = SFTTrainer
    if run.by_document:
        from .on_cpu import ReplyTrainer

        trainer = ReplyTrainer
    return trainer(args=SFTConfig(completion_only_loss=True, **arguments), **common)


def arguments_of(run: Run, out: Path, *, measured: bool, tracker: str) -> dict[str, Any]:
    """Return the run's settings as TRL's arguments."""
    sharded = run.method == "full" and run.processes > 1 and run.sharding == "all"
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
        "bf16": as_computed(run).precision == "bf16",
        "fp16": run.precision == "fp16",
        # Sharding has checkpoints of its own, see the accelerate configurations.
        "gradient_checkpointing": run.checkpointing and not sharded,
        "use_cpu": run.hardware.gpus == 0,
        "eval_strategy": "epoch" if measured else "no",
        "save_strategy": "steps" if run.checkpoint_steps else "epoch",
        "save_steps": run.checkpoint_steps or 1,
        "save_total_limit": 1,
        "restore_callback_states_from_checkpoint": True,
        "logging_steps": 1,
        "report_to": tracker,
        # Rows of one length are read together, or half of what is computed is padding. (Preferences
        # are two sequences each, whose length the sampler does not know.)
        "train_sampling_strategy": "random" if run.preference else "group_by_length",
        "seed": run.seed,
    }
