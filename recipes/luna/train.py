"""Trains the encoder on encoded items, with checkpoints that a killed run resumes from.

On one processor, one GPU or, under `accelerate launch`, several: the code is the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from moonlynx.judge.backends.torch_encoder import freeze, save_network
from moonlynx.judge.files.stored import save_record

from ..hardware import HARDWARE, find_hardware
from ..runs import SettingsError
from . import checkpoints
from .batches import (
    Encoded,
    batches,
    collate,
    hold_back,
    repeat_items,
    seeded,
    training_batches,
)
from .loss import conflict_loss, support_loss
from .measure import measure, read_batch
from .settings import Run, Stage

if TYPE_CHECKING:
    from torch import nn, optim

log = logging.getLogger(__name__)


def train(
    run: Run, stage: Stage, items: Sequence[Encoded], network: nn.Module, out: Path, pad: int
) -> checkpoints.Progress:
    """Train `network` on the items and save it to `out`, resuming from what is there.

    A share of the items (`run.held_back`) is not trained on; what is measured on it goes to
    `held_back.json`, and at every checkpoint, as a learning curve, to `curve.jsonl`. A run that was
    killed ends, on one processor, with the very weights of one that was not.

    Raises:
        SettingsError: there is nothing to train on.
    """
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(
        mixed_precision="no" if run.precision == "fp32" else run.precision,
        gradient_accumulation_steps=stage.accumulate,
    )
    process, processes = accelerator.process_index, accelerator.num_processes
    optimizer = _optimizer(network, run, stage)
    progress = checkpoints.resume(out, network, optimizer)
    measured, trained = hold_back(items, run.held_back, run.seed)
    if not trained:
        raise SettingsError(f"{out.name}: the stage has no item to train on")
    trained = repeat_items(trained, stage.repeat)
    held_back = [collate(chosen, pad) for chosen in batches(measured, stage.batch_tokens, None)]
    if process == 0:
        out.mkdir(parents=True, exist_ok=True)
        save_record(find_hardware(), out / HARDWARE)
    bare, (network, optimizer) = network, accelerator.prepare(network, optimizer)
    network.train()
    budget = stage.budget(sum(item.size for item in trained))
    log.info("%d items to train on, %d held back", len(trained), len(measured))
    began, losses = time.monotonic() - progress.seconds, list[float]()
    share = slice(process, None, processes)
    for step in training_batches(
        trained, stage.batch_tokens, run.seed, progress.batches, pad, share
    ):
        if progress.tokens >= budget:
            break
        # Of dropout.
        torch.manual_seed(seeded(f"{run.seed}/{step.number}/{process}").getrandbits(63))
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * _rate(progress.tokens / budget, stage.warmup)
        with accelerator.accumulate(network):
            support, on = read_batch(network, step.batch, accelerator.device)
            loss = support_loss(
                support, on.supported, on.tokens, on.claim_mask, stage.token_weight, on.answers
            )
            loss = loss + conflict_loss(support.conflicts, on.contradicted)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(float(loss.detach()))
        read, seconds = progress.tokens + step.tokens, time.monotonic() - began
        progress = checkpoints.Progress(step.number + 1, read, seconds, len(trained))
        if progress.batches % (run.save_every * stage.accumulate) == 0 and process == 0:
            _log(progress, budget, losses)
            losses.clear()
            checkpoints.save(out, bare, optimizer, measure(bare, held_back), progress)
    progress = progress._replace(done=True)
    if process == 0:
        figures = measure(bare, held_back)
        log.info("held back: %s", figures)
        save_network(bare, out)
        checkpoints.mark_done(out, figures, progress)
    accelerator.wait_for_everyone()
    return progress


def _optimizer(network: nn.Module, run: Run, stage: Stage) -> optim.Optimizer:
    """Set dropout and freeze the lowest layers; return AdamW over the others and the heads."""
    import torch

    freeze(network, run.frozen if stage.frozen is None else stage.frozen)
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = run.dropout
    parts = (network.marks, network.claim, network.tokens, network.conflict)
    heads = [parameter for part in parts for parameter in part.parameters()]
    trunk = [parameter for parameter in network.trunk.parameters() if parameter.requires_grad]
    groups = [
        {"params": trunk, "lr": stage.lr_trunk, "peak": stage.lr_trunk},
        {"params": heads, "lr": stage.lr_heads, "peak": stage.lr_heads},
    ]
    return torch.optim.AdamW(groups, weight_decay=stage.weight_decay, fused=True)


def _rate(done: float, warmup: float) -> float:
    """Return the learning rate's share of its peak: a linear rise, then a linear fall to 0."""
    return done / warmup if done < warmup else max(0.0, (1 - done) / (1 - warmup))


def _log(progress: checkpoints.Progress, budget: int, losses: Sequence[float]) -> None:
    log.info(
        "batch %d, %d of %d tokens, %.0f tokens/s, loss %.4f",
        progress.batches,
        progress.tokens,
        budget,
        progress.tokens / progress.seconds,
        sum(losses) / max(1, len(losses)),
    )
