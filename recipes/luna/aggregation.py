"""Chooses the aggregation, from claims' logits to an answer's score, that ranks best."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from moonlynx.eval.metrics import auroc
from moonlynx.judge.backends.encoder import EncoderBackend, EncoderOutput, Input
from moonlynx.judge.judges.luna.aggregate import AnswerScore, Support, answer_score, claim_support
from moonlynx.judge.judges.luna.inputs import claim_logits

from ..data.answers import LabelledAnswer
from .batches import Encoded
from .items import Item
from .reader import Reader

PAPER = ("min", "max")  # equations 4 and 5 of the paper
_LEVEL = 0.005  # of mean AUROC: less than chance moves


class Scored(NamedTuple):
    """Logits of one claim by window, shape (windows, tokens) and (windows,)."""

    tokens: NDArray[np.float32]
    claims: NDArray[np.float32]


class Choice(NamedTuple):
    """An aggregation with the AUROC of answers that it has in each validation set."""

    aggregation: Support
    answer: AnswerScore
    auroc: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Return the mean over the sets: a large one counts no more than a small one."""
        return float(np.mean(list(self.auroc.values())))


def answer_items(answers: Sequence[LabelledAnswer], reader: Reader) -> list[Item]:
    """Return the claims of answers to score; the source "3/0" is the first claim of the fourth."""
    return [
        Item(
            claim.text,
            tuple(window.text for window in windows),
            False,
            f"{index}/{number}",
            claim.lead,
            new=new,
        )
        for index, answer in enumerate(answers)
        for number, (claim, windows, new, _) in enumerate(reader.claims(answer.example))
    ]


class Remembering:
    """An encoder that reads no input twice: the validation sets and the calibration share rows."""

    def __init__(self, encoder: EncoderBackend) -> None:
        self.name, self.version, self.at_once = encoder.name, encoder.version, encoder.at_once
        self._encoder = encoder
        self._read: dict[tuple[bytes, bytes], EncoderOutput] = {}

    def encode(self, inputs: Sequence[Input]) -> list[EncoderOutput]:
        """Read the inputs, in order."""
        keys = [(ids.tobytes(), types.tobytes()) for ids, types in inputs]
        new = {key: one for key, one in zip(keys, inputs, strict=True) if key not in self._read}
        self._read |= zip(new, self._encoder.encode([*new.values()]), strict=True)
        return [self._read[key] for key in keys]


def score_answers(
    encoder: EncoderBackend, items: Sequence[Encoded], answers: int
) -> list[list[Scored]]:
    """Run the encoder once over the encoded `answer_items` of so many answers."""
    found: list[list[Scored]] = [[] for _ in range(answers)]
    for item, scored in zip(items, run_encoder(encoder, items), strict=True):
        found[int(item.source.partition("/")[0])].append(scored)
    return found


def run_encoder(encoder: EncoderBackend, items: Sequence[Encoded]) -> list[Scored]:
    """Return the logits of each item."""
    inputs = [(reading.ids, reading.types) for item in items for reading in item.readings]
    outputs = iter(encoder.encode(inputs))
    scored = []
    for item in items:
        own = [(reading, next(outputs)) for reading in item.readings]
        scored.append(Scored(*claim_logits(own)))
    return scored


def raw_scores(
    scored: Sequence[Sequence[Scored]], aggregation: Support, answer: AnswerScore
) -> list[float]:
    """Return the answers' raw scores, to four decimals as in a verdict."""
    unsupported = (
        [round(1.0 - claim_support(*claim, aggregation).support, 4) for claim in claims]
        for claims in scored
    )
    return [round(answer_score(claims, answer), 4) for claims in unsupported]


def choose(
    scored: Mapping[str, Sequence[Sequence[Scored]]], failed: Mapping[str, Sequence[bool]], own: str
) -> list[Choice]:
    """Measure every aggregation on the sets that have both labels, best mean AUROC first.

    Of those that are level with the best, the one that ranks the set `own` best comes first.
    """
    choices = []
    for aggregation, answer in product(get_args(Support), get_args(AnswerScore)):
        found = {
            name: auroc(failed[name], raw_scores(rows, aggregation, answer))
            for name, rows in scored.items()
        }
        defined = {name: value for name, value in found.items() if value is not None}
        choices.append(Choice(aggregation, answer, defined))
    choices.sort(key=lambda choice: -choice.mean)
    level = [choice for choice in choices if choice.mean > choices[0].mean - _LEVEL]
    best = max(level, key=lambda choice: choice.auroc[own])
    return [best, *(choice for choice in choices if choice is not best)]
