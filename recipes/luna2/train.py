"""Training of a Luna-2 head: labelled rows in, a folder that judges out.

Goel et al., "Luna-2" (2025), section 3.3: the backbone stays frozen, an adapter on attention's
projections learns the metric, by cross-entropy over the class tokens at the last position.
"""

import hashlib
import json
import logging
import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.local import hash_files
from moonlynx.judge.backends.pretrained import ADAPTER_WEIGHTS
from moonlynx.judge.contract.types import MoonlynxError, Record
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.metrics.adapter import (
    HEAD,
    Backbone,
    Head,
    HeadError,
    find_backbone,
    fingerprint,
    load_head_file,
    load_tokenizer,
)
from moonlynx.judge.metrics.definition import MetricDefinition
from moonlynx.judge.metrics.prompt import Prompter

from ..runs import SettingsError, claim_folder
from .data import Splits
from .encoding import Encodings, class_weights, collate, encode
from .model import class_logits, load_with_adapter, trainer_class
from .scaling import Fitted, fit
from .settings import Run

log = logging.getLogger(__name__)
HEAD_FOLDER, CHECKPOINTS, TRAINED = "head", "checkpoints", "trained.json"


class NothingToTrainOn(MoonlynxError, ValueError):
    """No row is left, or all have one class; says why."""


class Claim(Record):
    """What a run's folder is claimed for."""

    run: Run
    definition: MetricDefinition
    backbone: str  # its fingerprint
    rows: str  # a hash of all rows


class Trained(NamedTuple):
    """What a run did."""

    rows: int
    validation: int
    sources: dict[str, int]  # training rows of each source, those left out too
    sets: tuple[str, ...]  # the open sets that they are of, as `data.SETS` names them
    # training rows left out
    too_long: int
    blank: int
    trained_weights: int
    all_weights: int
    steps: int
    # the step whose weights are the head's: the end of the epoch with the least validation loss, or
    # the last where there are no validation rows
    kept: int
    seconds: float  # of training, since its last start
    # at each logged step, and after each epoch
    losses: list[float]
    validation_losses: list[float]
    # validation loss before and after temperature and bias, in nats a decision; None where its rows
    # are too few to fit to
    fitted_before: float | None
    fitted_after: float | None


def plan(run: Run, definition: MetricDefinition, splits: Splits) -> list[str]:
    """Return what a run would do, in lines: rows and steps, and where the backbone is, its tokens.

    No weights are loaded. Raises as `train` for what is wrong with rows or tokenizer.
    """
    sizes = f"{len(splits.train)} rows, {len(splits.validation)} for validation"
    try:
        backbone = find_backbone(run.backbone)
    except BackendError as error:
        return [f"{definition.name} on {run.backbone}: {sizes}", f"lengths not counted: {error}"]
    prompter = Prompter(definition, load_tokenizer(backbone))
    learned = encode(splits.train, prompter, run.max_length)
    _check(learned, len(splits.train), run)
    tokens = sum(len(row["input_ids"]) for row in learned.rows)
    steps = math.ceil(len(learned.rows) * run.epochs / run.batch)
    return [
        f"{definition.name} on {run.backbone}: {sizes}; {learned.too_long} too long, "
        f"{learned.blank} blank",
        f"{steps} steps over {run.epochs * tokens:,.0f} tokens",
        f"each class is one token: {prompter.tokens.answers()}",
    ]


def train(run: Run, definition: MetricDefinition, splits: Splits, out: Path) -> Trained:
    """Train, resuming from the last checkpoint in `out`, and save the head to `out/head`.

    Rows for testing are left alone.

    Raises:
        SettingsError: `out` holds another run, or several GPUs are visible.
        NothingToTrainOn: no row is short enough, or all have one class.
        PreflightError: the backbone's tokenizer has no single tokens for the classes.
        HeadError: the head to continue from is no head, or one of another metric or backbone.
        BackendError, BackboneNotUsable: the backbone is not available.
    """
    from transformers.trainer_utils import get_last_checkpoint

    # ---- the backbone's tokenizer, and whether it can say the classes -------------------------
    backbone = find_backbone(run.backbone)
    tokenizer = load_tokenizer(backbone)
    sha256 = fingerprint(backbone)
    before = None if run.head is None else _load_before(Path(run.head), definition, sha256)
    prompter = Prompter(definition, tokenizer, before.tokens if before else None)
    claim = Claim(run=run, definition=definition, backbone=sha256, rows=_hash(splits))
    claim_folder(out, claim)

    # ---- rows as token ids --------------------------------------------------------------------
    learned = encode(splits.train, prompter, run.max_length)
    measured = encode(splits.validation, prompter, run.max_length)
    _check(learned, len(splits.train), run)
    log.info(
        "%d rows, %d for validation; left out %d as too long, %d as blank",
        len(learned.rows),
        len(measured.rows),
        learned.too_long,
        learned.blank,
    )

    # ---- the model and its trainer ------------------------------------------------------------
    model = load_with_adapter(run, backbone)
    tokens = list(prompter.tokens.ids.values())
    targets = [row["targets"] for row in learned.rows]
    collator = partial(collate, places_from_end=prompter.places_from_end)
    trainer = trainer_class()(
        tokens=tokens,
        weights=class_weights(targets, len(tokens), run.class_weights),
        model=model,
        args=_arguments(run, out, len(learned.rows), measured=bool(measured.rows)),
        train_dataset=learned.rows,
        eval_dataset=measured.rows or None,
        data_collator=collator,
    )
    folder = out / CHECKPOINTS
    last = get_last_checkpoint(str(folder)) if folder.is_dir() else None
    seconds = float(trainer.train(resume_from_checkpoint=last).metrics["train_runtime"])

    # ---- temperature, bias and thresholds on the validation rows, by the weights as saved ------
    for weight in _adapter(model).values():
        weight.data.copy_(weight.data.half())
    fitted = _fit(model, definition, prompter, measured, collator, run)
    if fitted.after is None and before is not None:  # too few rows: what was fitted is kept
        fitted = fitted._replace(scaling=before.scaling, thresholds=before.thresholds)

    # ---- the head's folder ---------------------------------------------------------------------
    head = Head(
        definition=definition,
        tokens=prompter.tokens,
        scaling=fitted.scaling,
        thresholds=fitted.thresholds,
        backbone=Backbone(name=run.backbone, sha256=sha256),
        version="",
    )
    _save(model, tokenizer, head, out / HEAD_FOLDER)
    trained, everything = model.get_nb_trainable_parameters()
    history = trainer.state.log_history
    done = Trained(
        rows=len(learned.rows),
        validation=len(measured.rows),
        sources=dict(sorted(Counter(row.source for row in splits.train).items())),
        sets=splits.sets,
        too_long=learned.too_long,
        blank=learned.blank,
        trained_weights=trained,
        all_weights=everything,
        steps=trainer.state.global_step,
        kept=trainer.state.best_global_step or trainer.state.global_step,
        seconds=seconds,
        losses=[entry["loss"] for entry in history if "loss" in entry],
        validation_losses=[entry["eval_loss"] for entry in history if "eval_loss" in entry],
        fitted_before=fitted.before,
        fitted_after=fitted.after,
    )
    text = json.dumps(done._asdict(), indent=2) + "\n"
    (out / TRAINED).write_text(text, encoding="utf-8")
    return done


def _load_before(folder: Path, definition: MetricDefinition, backbone: str) -> Head:
    before = load_head_file(folder)
    if before.definition != definition:
        raise HeadError(f"head: {folder} is of another metric, or of {definition.name} as it was")
    if before.backbone.sha256 != backbone:
        raise HeadError(f"head: {folder} is on {before.backbone.name}, not on this backbone")
    return before


def _hash(splits: Splits) -> str:
    digest = hashlib.sha256()
    for side in (splits.train, splits.validation, splits.test):
        for row in side:
            written = (row.input.model_dump_json(), sorted(row.labels), row.group)
            digest.update(json.dumps(written).encode("utf-8"))
        digest.update(b"|")
    return digest.hexdigest()


def _check(learned: Encodings, rows: int, run: Run) -> None:
    if not learned.rows:
        raise NothingToTrainOn(
            f"none of {rows} rows can be trained on: {learned.too_long} are longer than "
            f"max_length ({run.max_length} tokens), {learned.blank} hold nothing the metric reads"
        )
    if all(row["targets"] == learned.rows[0]["targets"] for row in learned.rows):
        raise NothingToTrainOn(f"all {len(learned.rows)} rows have the same labels")


def _arguments(run: Run, out: Path, rows: int, *, measured: bool) -> Any:
    import torch
    from transformers import TrainingArguments

    steps = max(1, round(run.epochs * -(-rows // run.batch)))
    arguments = TrainingArguments(
        output_dir=str(out / CHECKPOINTS),
        per_device_train_batch_size=run.rows_at_once,
        per_device_eval_batch_size=run.rows_at_once,
        gradient_accumulation_steps=run.batch // run.rows_at_once,
        num_train_epochs=run.epochs,
        learning_rate=run.learning_rate,
        lr_scheduler_type="linear",
        weight_decay=run.weight_decay,
        warmup_steps=round(run.warmup * steps),
        optim="adamw_torch",
        bf16=run.precision == "bf16",
        use_cpu=run.device == "cpu" or not torch.cuda.is_available(),  # before it takes bf16
        gradient_checkpointing=run.checkpointing,
        train_sampling_strategy="group_by_length",
        eval_strategy="epoch" if measured else "no",
        prediction_loss_only=True,
        save_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=measured,
        metric_for_best_model="eval_loss" if measured else None,
        logging_steps=max(1, steps // 200),
        label_names=["targets"],
        remove_unused_columns=False,
        report_to="none",
        disable_tqdm=True,
        seed=run.seed,
    )
    if arguments.n_gpu > 1:
        # A batch would be dealt out among them, and with it the places, which are all rows' own.
        raise SettingsError("one GPU trains a head; name it, as in CUDA_VISIBLE_DEVICES=0")
    return arguments


def _fit(
    model: Any,
    definition: MetricDefinition,
    prompter: Prompter,
    measured: Encodings,
    collator: Callable[..., dict[str, Any]],
    run: Run,
) -> Fitted:
    import numpy as np
    import torch

    tokens = list(prompter.tokens.ids.values())
    shape = (0, len(measured.rows[0]["targets"]) if measured.rows else 1, len(tokens))
    logits = [np.zeros(shape)]
    model.eval()
    for start in range(0, len(measured.rows), run.rows_at_once):
        batch = collator(measured.rows[start : start + run.rows_at_once])
        inputs = {name: value.to(model.device) for name, value in batch.items()}
        with torch.inference_mode():
            logits.append(class_logits(model, inputs, tokens).double().cpu().numpy())
    targets = np.array([row["targets"] for row in measured.rows], dtype=np.int64)
    return fit(definition, prompter.tokens, np.concatenate(logits), targets)


def _adapter(model: Any) -> dict[str, Any]:
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def _save(model: Any, tokenizer: Any, head: Head, folder: Path) -> None:
    """Write the head's folder, `luna2.json` last: where it is, the folder is whole."""
    # Its own default would be this machine's path to the backbone.
    model.peft_config["default"].base_model_name_or_path = head.backbone.name
    halves = {name: weight.data.half() for name, weight in _adapter(model).items()}
    model.save_pretrained(str(folder), state_dict=halves, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)  # PEFT's form of a card, to be filled in
    tokenizer.save_pretrained(folder)
    save_head(head, folder)


def save_head(head: Head, folder: Path) -> str:
    """Write `luna2.json` beside an adapter's weights, whose hash is the version; return that."""
    version = hash_files(folder / ADAPTER_WEIGHTS)
    save_record(head.model_copy(update={"version": version}), folder / HEAD)
    return version
