"""A stage's folder while it is trained: checkpoints, the learning curve, and what is left of them.

A checkpoint counts, and the one before is removed, once `progress.json` names it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from moonlynx.judge.backends.torch_encoder import load_weights, save_network
from moonlynx.judge.files import journal
from moonlynx.judge.files.atomic import written_whole

if TYPE_CHECKING:
    from torch import nn

HELD_BACK, CURVE = "held_back.json", "curve.jsonl"
_PROGRESS = "progress.json"
_OPTIMIZER = "optimizer.safetensors"


class Progress(NamedTuple):
    """How far a stage is."""

    # read so far, padding not counted
    batches: int = 0
    tokens: int = 0
    seconds: float = 0.0  # spent in training, over all resumptions
    items: int = 0  # how many the stage trains on
    done: bool = False  # that is all; the stage's folder holds the network


def read_progress(out: Path) -> Progress:
    """Return how far the stage in `out` is, by its last checkpoint."""
    path = out / _PROGRESS
    return Progress(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Progress()


def resume(out: Path, network: nn.Module, optimizer: Any) -> Progress:
    """Load the last checkpoint into network and optimizer, where there is one."""
    from safetensors.torch import load_file

    progress = read_progress(out)
    if not progress.batches:
        return progress
    folder = _checkpoint(out, progress)
    load_weights(network, folder)
    content = optimizer.state_dict()
    for key, value in load_file(folder / _OPTIMIZER).items():
        index, name = key.split(".")
        content["state"].setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(content)
    return progress


def save(
    out: Path, network: nn.Module, optimizer: Any, figures: Mapping[str, Any], progress: Progress
) -> None:
    """Write a checkpoint, and a point of the learning curve."""
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
    point = {"read_tokens": progress.tokens, "seconds": round(progress.seconds), **figures}
    with journal.resume(out / CURVE) as curve:
        curve.append([json.dumps(point).encode() + b"\n"])


def mark_done(out: Path, figures: Mapping[str, Any], progress: Progress) -> None:
    """Write what was measured of the network in `out` in place of the checkpoints."""
    out.mkdir(parents=True, exist_ok=True)
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
