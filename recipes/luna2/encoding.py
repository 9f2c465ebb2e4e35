"""Labelled inputs as the model reads them: token ids, and the class that each place answers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from moonlynx.judge.contract.types import JudgeError
from moonlynx.judge.metrics.definition import MetricDefinition
from moonlynx.judge.metrics.prompt import Encoded, Prompter, fault_of

from .data import LabelledInput


class Encodings(NamedTuple):
    """The rows that can be trained on, and how many were left out as too long or blank.

    Each row has `input_ids`, the prompt's tokens, and `targets`, the right answer at each place.
    """

    rows: list[dict[str, list[int]]]
    too_long: int
    blank: int


def encode(rows: Sequence[LabelledInput], prompter: Prompter, max_length: int) -> Encodings:
    """Write rows as prompts of at most `max_length` tokens, whole or not at all."""
    written: list[dict[str, list[int]]] = []
    too_long = blank = 0
    for row in rows:
        encoded: Encoded | JudgeError | None = fault_of(prompter.definition, row.input)
        encoded = encoded or prompter.encode(row.input, max_length + 1)
        if isinstance(encoded, Encoded):
            targets = targets_of(row, prompter.definition)
            written.append({"input_ids": encoded.ids, "targets": targets})
        elif encoded.code == "too_long":
            too_long += 1
        else:
            blank += 1
    return Encodings(written, too_long, blank)


def targets_of(row: LabelledInput, definition: MetricDefinition) -> list[int]:
    """Return the index of the right answer at each place, in the order of `definition.answers`."""
    if definition.kind == "multi-label":
        return [0 if name in row.labels else 1 for name in definition.classes]  # true, false
    (label,) = row.labels
    return [list(definition.classes).index(label)]


def class_weights(targets: Sequence[Sequence[int]], answers: int, kind: str) -> list[list[float]]:
    """Return the loss's weight of each answer at each place, shape (places, answers).

    "balanced" gives every answer the same total, and the rows a mean weight of 1; an answer that
    no row has weighs 1, as all do with "none".
    """
    places = len(targets[0])
    if kind == "none":
        return [[1.0] * answers for _ in range(places)]
    weights = []
    for place in range(places):
        counts = [sum(each[place] == answer for each in targets) for answer in range(answers)]
        present = sum(count > 0 for count in counts)
        weights.append([len(targets) / (present * n) if n else 1.0 for n in counts])
    return weights


def collate(
    rows: Sequence[Mapping[str, Sequence[int]]], places_from_end: Sequence[int]
) -> dict[str, Any]:
    """Join rows into a batch, padded on the left so that the places are aligned.

    `places_from_end` is how many tokens before the end each place's last token is, 1 for the end.

    Returns:
        The model's inputs, and `targets` of shape (rows, places).
    """
    import torch

    width = max(len(row["input_ids"]) for row in rows)
    padding = [width - len(row["input_ids"]) for row in rows]
    ids = [[0] * pad + list(row["input_ids"]) for pad, row in zip(padding, rows, strict=True)]
    mask = (torch.arange(width)[None, :] >= torch.tensor(padding)[:, None]).long()
    return {
        "input_ids": torch.tensor(ids),
        "attention_mask": mask,
        "position_ids": (mask.cumsum(-1) - 1).clamp(min=0),
        "logits_to_keep": torch.tensor([width - place for place in places_from_end]),
        "targets": torch.tensor([list(row["targets"]) for row in rows]),
    }
