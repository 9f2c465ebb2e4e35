"""From a trained encoder to a judge: aggregation, threshold and calibration, on validation rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from moonlynx.eval.metrics import auroc
from moonlynx.judge.judges.luna.aggregate import AnswerScore, Support, answer_score, claim_support
from moonlynx.judge.judges.luna.inputs import Limits, find_specials

from ..data.answers import LabelledAnswer
from .batches import Encoded, batches, collate, encode_items, pad_id
from .items import Item
from .stage_items import Reader

if TYPE_CHECKING:
    from torch import nn


class Scored(NamedTuple):
    """What the encoder says of one claim: logits by window, shape (windows, tokens), (windows,)."""

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


def score_answers(
    network: nn.Module,
    answers: Sequence[LabelledAnswer],
    reader: Reader,
    tokenizer: Tokenizer,
    limits: Limits,
    batch_tokens: int,
) -> list[list[Scored]]:
    """Run the encoder once over every claim of the answers."""
    items = answer_items(answers, reader)
    encoded = encode_items(items, tokenizer, find_specials(tokenizer), limits)
    return by_answer(run_network(network, encoded, batch_tokens, pad_id(tokenizer)), len(answers))


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
        for number, (claim, windows, new) in enumerate(reader.claims(answer.example))
    ]


def by_answer(scored: Mapping[str, Scored], answers: int) -> list[list[Scored]]:
    """Return the scores of the items of `answer_items`, grouped into so many answers by source."""
    found: list[list[Scored]] = [[] for _ in range(answers)]
    for source, one in scored.items():
        found[int(source.partition("/")[0])].append(one)
    return found


def run_network(
    network: nn.Module, items: Sequence[Encoded], batch_tokens: int, pad: int
) -> dict[str, Scored]:
    """Return the logits of each item, by its source, in the items' order."""
    import torch

    scored: dict[str, Scored] = {}
    device = next(network.parameters()).device
    network.eval()
    with torch.inference_mode():
        for chosen in batches(items, batch_tokens, None):
            batch = collate(chosen, pad)
            ids, mask, types = (torch.from_numpy(array).to(device) for array in batch[:3])
            tokens, claims, _ = (part.float().cpu().numpy() for part in network(ids, mask, types))
            own = np.take_along_axis(tokens, batch.places, axis=1)
            for row, item in enumerate(chosen):
                windows = batch.owner == row
                scored[item.source] = Scored(own[windows, : len(item.tokens)], claims[windows])
    return {item.source: scored[item.source] for item in items}


def failed_by_set(sets: Mapping[str, Sequence[LabelledAnswer]]) -> dict[str, list[bool]]:
    """Return for each answer whether it is FAIL."""
    return {
        name: [answer.example.label == "FAIL" for answer in answers]
        for name, answers in sets.items()
    }


def raw_scores(
    scored: Sequence[Sequence[Scored]], aggregation: Support, answer: AnswerScore
) -> list[float]:
    """Return the answers' raw scores, to four decimals as in a verdict."""
    return [
        round(
            answer_score(
                [round(1.0 - claim_support(*claim, aggregation).support, 4) for claim in claims],
                answer,
            ),
            4,
        )
        for claims in scored
    ]


def choose(
    scored: Mapping[str, Sequence[Sequence[Scored]]], failed: Mapping[str, Sequence[bool]]
) -> list[Choice]:
    """Measure every aggregation on the sets that have both labels, best mean AUROC first."""
    choices = []
    for aggregation, answer in product(get_args(Support), get_args(AnswerScore)):
        found = {
            name: auroc(failed[name], raw_scores(rows, aggregation, answer))
            for name, rows in scored.items()
        }
        defined = {name: value for name, value in found.items() if value is not None}
        choices.append(Choice(aggregation, answer, defined))
    return sorted(choices, key=lambda choice: -choice.mean)
