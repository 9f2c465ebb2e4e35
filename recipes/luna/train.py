"""Trains the encoder on encoded items, with checkpoints that a killed run resumes from.

On one processor, one GPU or, under `accelerate launch`, several: the code is the same.
"""

from __future__ import annotations

import json
import logging
import random
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from moonlynx.eval.metrics import auroc
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.torch_encoder import load_weights, save_network
from moonlynx.judge.files.atomic import written_whole

from ..runs import SettingsError
from .batches import Encoded, batches, collate, units
from .loss import Support, best_windows, conflict_loss, support_loss
from .settings import Run, Stage

if TYPE_CHECKING:
    from torch import Tensor, nn

log = logging.getLogger(__name__)
HELD_BACK, CURVE = "held_back.json", "curve.jsonl"
_PROGRESS = "progress.json"
_OPTIMIZER = "optimizer.safetensors"


class Progress(NamedTuple):
    """How far a stage is.

    Attributes:
        batches, tokens: read so far, padding not counted.
        seconds: spent in training, over all resumptions.
        items: how many the stage trains on.
        done: that is all; the stage's folder holds the network.
    """

    batches: int = 0
    tokens: int = 0
    seconds: float = 0.0
    items: int = 0
    done: bool = False


def train(
    run: Run, stage: Stage, items: Sequence[Encoded], network: nn.Module, out: Path, pad: int
) -> Progress:
    """Train `network` on the items and save it to `out`, resuming from what is there.

    A share of the items (`run.held_back`) is not trained on; what is measured on it goes to
    `held_back.json`, and at every checkpoint, as a learning curve, to `curve.jsonl`. A run that was
    killed ends, on one processor, with the very weights of one that was not; of one that is done,
    they are only read.

    Raises:
        MissingExtra: torch, accelerate or scikit-learn is not installed.
        SettingsError: there is nothing to train on.
    """
    try:
        import sklearn.metrics  # noqa: F401 (read at the end, missed now)
        import torch
        from accelerate import Accelerator
    except ImportError:
        raise MissingExtra("training", "train") from None

    progress = read_progress(out)
    if progress.done:
        load_weights(network, out)
        return progress
    accelerator = Accelerator(
        mixed_precision="no" if run.precision == "fp32" else run.precision,
        gradient_accumulation_steps=stage.accumulate,
    )
    held_back, trained = _hold_back(items, run)
    if not trained:
        raise SettingsError(f"{out.name}: the stage has no item to train on")
    trained = _repeat(trained, stage.repeat)
    parts = (network.marks, network.claim, network.tokens, network.conflict)
    heads = [parameter for part in parts for parameter in part.parameters()]
    trunk = [parameter for parameter in network.trunk.parameters() if parameter.requires_grad]
    groups = [
        {"params": trunk, "lr": stage.lr_trunk, "peak": stage.lr_trunk},
        {"params": heads, "lr": stage.lr_heads, "peak": stage.lr_heads},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=stage.weight_decay, fused=True)
    _resume(out, progress, network, optimizer)
    bare, (network, optimizer) = network, accelerator.prepare(network, optimizer)
    network.train()
    _set_dropout(network, run.dropout)
    budget = stage.budget(sum(_tokens(item) for item in trained))
    log.info("%d items to train on, %d held back", len(trained), len(held_back))
    began, losses = time.monotonic() - progress.seconds, list[float]()
    process, processes = accelerator.process_index, accelerator.num_processes
    for index, chosen in _endless(trained, stage.batch_tokens, run.seed, progress.batches):
        if progress.tokens >= budget:
            break
        torch.manual_seed(_seeded(f"{run.seed}/{index}/{process}").getrandbits(63))  # of dropout
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * _rate(progress.tokens / budget, stage.warmup)
        with accelerator.accumulate(network):
            own = list(chain(*units(chosen)[process::processes])) or chosen
            support, targets, answers, kinds = read_batch(network, own, pad, accelerator.device)
            loss = support_loss(support, *targets, stage.token_weight, answers)
            loss = loss + conflict_loss(support.conflicts, kinds)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(float(loss.detach()))
        read = progress.tokens + sum(_tokens(item) for item in chosen)
        progress = Progress(index + 1, read, time.monotonic() - began, len(trained))
        if progress.batches % (run.save_every * stage.accumulate) == 0 and process == 0:
            _log(progress, budget, losses)
            losses.clear()
            _save(out, bare, optimizer, progress)
            _add_point(out, progress, measure(bare, held_back, stage.batch_tokens, pad))
    progress = progress._replace(done=True)
    if process == 0:
        figures = measure(bare, held_back, stage.batch_tokens, pad)
        log.info("held back: %s", figures)
        _finish(out, bare, figures, progress)
    accelerator.wait_for_everyone()
    return progress


def read_progress(out: Path) -> Progress:
    """Return how far the stage in `out` is, by its last checkpoint."""
    path = out / _PROGRESS
    if not path.exists():
        return Progress()
    return Progress(**json.loads(path.read_text(encoding="utf-8")))


def read_batch(
    network: nn.Module, chosen: Sequence[Encoded], pad: int, device: Any
) -> tuple[Support, tuple[Tensor, Tensor, Tensor], Tensor, Tensor]:
    """Run the network over some items.

    Returns:
        Their support, what it should have been (labels, tokens, claim mask), and `answers` and
        `contradicted` as in `Batch`.
    """
    import torch

    batch = collate(chosen, pad)
    ids, mask, types, owner, places, claim_mask, tokens, supported, answers, contradicted = (
        torch.from_numpy(array).to(device) for array in batch
    )
    by_token, by_claim, by_conflict = (part.float() for part in network(ids, mask, types))
    support = best_windows(by_token, by_claim, by_conflict, owner, places, len(supported))
    return support, (supported, tokens, claim_mask), answers, contradicted


def measure(
    network: nn.Module, items: Sequence[Encoded], batch_tokens: int, pad: int
) -> dict[str, Any]:
    """Count the items, all and by source, and compute the AUROC of their claims.

    The AUROC of "not supported" is null where all have one label; `tokens` is that of the single
    tokens, `conflicts` that of contradicted against not mentioned, where these are known.
    """
    import torch

    device = next(network.parameters()).device
    claims: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    tokens: list[tuple[bool, float]] = []
    conflicts: list[tuple[bool, float]] = []
    network.eval()
    with torch.inference_mode():
        for chosen in batches(items, batch_tokens, None):
            support, (_, targets, _), _, contradicted = read_batch(network, chosen, pad, device)
            for item, logit in zip(chosen, support.claims.tolist(), strict=True):
                for source in ("all", item.source) if item.supported is not None else ():
                    claims[source].append((bool(item.supported), logit))
            known = targets >= 0
            tokens += zip(targets[known].tolist(), support.tokens[known].tolist(), strict=True)
            known = contradicted >= 0
            conflicts += zip(
                contradicted[known].tolist(), support.conflicts[known].tolist(), strict=True
            )
    network.train()

    def ranked(pairs: Sequence[tuple[bool, float]]) -> float | None:
        found = auroc([holds for holds, _ in pairs], [logit for _, logit in pairs])
        return None if found is None else round(found, 4)

    return {
        "claims": {name: [len(pairs), ranked(pairs)] for name, pairs in sorted(claims.items())},
        "tokens": [len(tokens), ranked(tokens)],
        "conflicts": [len(conflicts), ranked(conflicts)],
    }


def _set_dropout(network: nn.Module, share: float) -> None:
    import torch

    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = share


def _tokens(item: Encoded) -> int:
    return sum(len(reading.ids) for reading in item.readings)


def _hold_back(items: Sequence[Encoded], run: Run) -> tuple[list[Encoded], list[Encoded]]:
    order = units(items)
    _seeded(f"{run.seed}").shuffle(order)
    cut = round(len(order) * run.held_back)
    return list(chain(*order[:cut])), list(chain(*order[cut:]))


def _repeat(items: list[Encoded], times: Mapping[str, int]) -> list[Encoded]:
    """Add copies of the items of some sources; those of an answer read as one stay single."""
    return items + [
        item for item in items if not item.answer for _ in range(times.get(item.source, 1) - 1)
    ]


def _endless(
    items: Sequence[Encoded], batch_tokens: int, seed: int, skip: int
) -> Iterator[tuple[int, list[Encoded]]]:
    """Return numbered batches, epoch after epoch, the same every time, from the skip-th on."""
    epochs = (batches(items, batch_tokens, _seeded(f"{seed}/{epoch}")) for epoch in count())
    return islice(enumerate(chain.from_iterable(epochs)), skip, None)


def _seeded(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - chance, not secrecy


def _rate(done: float, warmup: float) -> float:
    """Return the learning rate's share of its peak: a linear rise, then a linear fall to 0."""
    return done / warmup if done < warmup else max(0.0, (1 - done) / (1 - warmup))


def _save(out: Path, network: nn.Module, optimizer: Any, progress: Progress) -> None:
    """Write a checkpoint; it counts, and the one before is gone, once `progress.json` names it."""
    from safetensors.torch import save_file

    folder = _checkpoint(out, progress)
    save_network(network, folder)
    moments = {
        f"{index}.{name}": value
        for index, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
    }
    save_file(moments, folder / _OPTIMIZER)
    _commit(out, progress)
    _clear(out, keep=folder)


def _add_point(out: Path, progress: Progress, figures: Mapping[str, Any]) -> None:
    """Append a point of the learning curve."""
    point = {"read_tokens": progress.tokens, "seconds": round(progress.seconds), **figures}
    with (out / CURVE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(point) + "\n")


def _finish(out: Path, network: nn.Module, figures: Mapping[str, Any], progress: Progress) -> None:
    save_network(network, out)
    (out / HELD_BACK).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    _commit(out, progress)
    _clear(out)


def _checkpoint(out: Path, progress: Progress) -> Path:
    return out / f"checkpoint-{progress.batches}"


def _commit(out: Path, progress: Progress) -> None:
    with written_whole(out / _PROGRESS) as draft:
        draft.write_text(json.dumps(progress._asdict()) + "\n", encoding="utf-8")


def _clear(out: Path, keep: Path | None = None) -> None:
    for folder in out.glob("checkpoint-*"):
        if folder != keep:
            shutil.rmtree(folder)


def _resume(out: Path, progress: Progress, network: nn.Module, optimizer: Any) -> None:
    from safetensors.torch import load_file

    if not progress.batches:
        return
    folder = _checkpoint(out, progress)
    load_weights(network, folder)
    content = optimizer.state_dict()
    for key, value in load_file(folder / _OPTIMIZER).items():
        index, name = key.split(".")
        content["state"].setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(content)


def _log(progress: Progress, budget: int, losses: Sequence[float]) -> None:
    log.info(
        "batch %d, %d of %d tokens, %.0f tokens/s, loss %.4f",
        progress.batches,
        progress.tokens,
        budget,
        progress.tokens / progress.seconds,
        sum(losses) / max(1, len(losses)),
    )
