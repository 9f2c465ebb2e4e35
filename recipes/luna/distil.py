"""Distillation: a small encoder learns what a large one believes of each claim, beside its label.

Hinton et al. 2015, "Distilling the knowledge in a neural network" (arXiv 1503.02531), section 2, at
temperature 1. The teacher has no part in the student's steps: it reads every claim once beforehand,
and its beliefs are kept with the items, so that any number of students can learn from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from moonlynx.judge.backends.encoder import load_encoder
from moonlynx.judge.judges.luna.inputs import find_specials
from moonlynx.judge.judges.luna.weights import WeightsFolder, open_weights

from ..data.mixes import Mix
from .aggregation import run_encoder
from .batches import encode_items
from .items import Item
from .reader import Reader
from .settings import Stage
from .stage_items import stage_items

_DECIMALS = 4


def taught_items(stage: Stage, mix: Mix, root: Path, reader: Reader, seed: int) -> list[Item]:
    """Return the stage's items, with the teacher's beliefs where it names one.

    Raises as `stage_items` and `with_beliefs`, and:
        LunaError: the teacher's folder cannot be read.
    """
    # Opened first: that a teacher is missing must not be said after minutes of reading.
    teacher = open_weights(stage.teacher, "torch") if stage.teacher else None
    items = stage_items(stage, mix, root, reader, seed)
    return items if teacher is None else with_beliefs(items, teacher)


def with_beliefs(items: Sequence[Item], folder: WeightsFolder) -> list[Item]:
    """Return the items with the teacher's P(supported), the maximum over their premises.

    Claims that the teacher's tokenizer leaves nothing of have none.

    Raises:
        MissingExtra: torch or transformers is not installed.
    """
    numbered = [replace(item, source=str(at)) for at, item in enumerate(items)]
    limits = folder.config.limits
    encoded = encode_items(numbered, folder.tokenizer, find_specials(folder.tokenizer), limits)
    scored = run_encoder(load_encoder(folder.path, "torch"), encoded)
    beliefs = {
        int(item.source): round(float(1 / (1 + np.exp(-one.claims.max()))), _DECIMALS)
        for item, one in zip(encoded, scored, strict=True)
    }
    return [replace(item, teacher=beliefs.get(at)) for at, item in enumerate(items)]
