"""What a decoder says of labelled rows: class logprobs, and probabilities made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from moonlynx.judge.backends.labels import LabelRequest
from moonlynx.judge.backends.transformers_labels import TransformersLabels
from moonlynx.judge.luna2.definition import MetricDefinition
from moonlynx.judge.luna2.head import (
    Scaling,
    find_backbone,
    load_head_file,
    load_tokenizer,
    probabilities,
)
from moonlynx.judge.luna2.preflight import TokenMap
from moonlynx.judge.luna2.prompt import Encoded, Prompter, fault_of

from .data import LabelledInput
from .measure import Floats

_BATCH = 32
_EVEN = 0.5  # P of every class of a row that has no prompt


class Asked(NamedTuple):
    """What came back.

    Attributes:
        definition: of the metric.
        tokens: of its classes.
        logprobs: by row, shape (places, answers) each; None where the row has no prompt: it is
            longer than the model, or holds nothing to read.
    """

    definition: MetricDefinition
    tokens: TokenMap
    logprobs: list[Sequence[Sequence[float]] | None]

    def chances(self, scaling: Scaling) -> Floats:
        """Give P of every class, shape (rows, columns), even where there is nothing to go by."""
        names = list(self.definition.classes)
        rows = []
        for found in self.logprobs:
            if found is None:
                rows.append([_EVEN] * len(names))
            else:
                labels = probabilities(self.definition, self.tokens, scaling, found)
                rows.append([labels[name] for name in names])
        return np.array(rows, dtype=np.float64)


def ask(
    model: str, rows: Sequence[LabelledInput], definition: MetricDefinition, head: Path | None
) -> Asked:
    """Run the backbone over the rows, with a head of the metric or prompted as it is.

    Raises:
        BackendError: the model cannot be loaded.
        HeadError: the folder holds no head.
        PreflightError: the tokenizer has no single tokens for the classes.
    """
    folder = find_backbone(model)
    tokens = None if head is None else load_head_file(head).tokens
    prompter = Prompter(definition, load_tokenizer(folder if head is None else head), tokens)
    backend = TransformersLabels(str(folder), load="fp32", batch=_BATCH)
    adapter = None if head is None else backend.attach(definition.name, head)
    labels = tuple(prompter.tokens.ids.values())
    requests, places = [], []
    for place, row in enumerate(rows):
        if fault_of(definition, row.input) is None:
            encoded = prompter.encode(row.input, backend.positions)
            if isinstance(encoded, Encoded):
                requests.append(LabelRequest(tuple(encoded.ids), encoded.places, labels, adapter))
                places.append(place)
    logprobs: list[Sequence[Sequence[float]] | None] = [None] * len(rows)
    for place, reply in zip(places, backend.score(requests), strict=True):
        logprobs[place] = reply.logprobs or None
    return Asked(definition, prompter.tokens, logprobs)
