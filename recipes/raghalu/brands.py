"""What 200 labelled sentences change: three domains that the encoder never saw stand for brands.

The form is that of the paper's table 6: accuracy (micro F1) before and after, in the domain and
elsewhere, where something may be forgotten.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.luna.support import SupportModel
from moonlynx.judge.luna.weights import open_weights
from moonlynx.judge.raghalu.weights import EMBEDDED, open_heads
from moonlynx.judge.text import split_sentences
from moonlynx.judge.types import Example

from ..luna.answers import LabelledAnswer, load
from ..luna.answers.base import read_json
from ..luna.mixes import Mix
from ..luna.support import Floats, fit_support, least_supported, predict, read_features
from .fit import embedded_judge

DRAWS, SHOWN = 5, 200
ELSEWHERE = "qa_feedback"  # validation rows of a set that the encoder was trained on
_SEED = 0


class Labelled(NamedTuple):
    """A sentence as an answer, and whether the documents support it."""

    example: Example
    supported: bool


class Features(NamedTuple):
    """What tier 2 reads of a set's sentences, shape (sentences, 5), and their labels."""

    rows: Floats
    supported: NDArray[np.bool_]


class Change(NamedTuple):
    """Accuracy and F1 of UNSUPPORTED on one set, before and after; over the draws.

    Attributes:
        brand: whose sentences were shown.
        on: what is measured on; of the brand itself, the sentences that were not shown.
        before, after: (accuracy, F1 of UNSUPPORTED), of each draw, shape (draws, 2).
    """

    brand: str
    on: str
    before: Floats
    after: Floats


def measure(data: Path, rows: int) -> list[Change]:
    """Fit tier 2 to five draws of 200 sentences of each brand, and measure it on all sets.

    Before, a sentence is unsupported at the threshold of the best accuracy in `ELSEWHERE`: what a
    brand gets that labels nothing.

    Raises:
        DataNotFound: a set is not at `data`.
    """
    heads = open_heads(EMBEDDED).heads.model_copy(update={"support": SupportModel()})
    judge, before = embedded_judge(heads), open_weights(None, None).config.support
    sets = {}
    for name, sentences in read_sets(data, rows).items():
        found = read_features(judge, [sentence.example for sentence in sentences])
        read = [
            (row, sentence.supported)
            for claims, sentence in zip(found, sentences, strict=True)
            if (row := least_supported(claims)) is not None
        ]
        sets[name] = Features(np.array([own for own, _ in read]), np.array([ok for _, ok in read]))
    start = before.model_copy(update={"bias": _bias(before, sets[ELSEWHERE])})
    changes = []
    for brand in (name for name in sets if name != ELSEWHERE):
        draws: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in sets}
        for draw in range(DRAWS):
            rng = np.random.default_rng([_SEED, draw])
            order = rng.permutation(len(sets[brand].supported))
            shown, kept = order[:SHOWN], order[SHOWN:]
            labels = sets[brand].supported[shown]
            fitted = fit_support(sets[brand].rows[shown], labels, before)
            for name, own in sets.items():
                left = kept if name == brand else np.arange(len(own.supported))
                draws[name].append((figures(start, own, left), figures(fitted, own, left)))
        changes += [
            Change(brand, name, *(np.array(part) for part in zip(*pairs, strict=True)))
            for name, pairs in draws.items()
        ]
    return changes


def figures(model: SupportModel, own: Features, left: NDArray[np.int64]) -> Floats:
    """Give accuracy and F1 of UNSUPPORTED over some of the sentences, shape (2,)."""
    called = predict(model, own.rows[left]) <= 0.5
    wrong = ~own.supported[left]
    f1 = 2 * (called & wrong).sum() / max(1, called.sum() + wrong.sum())
    return np.array([(called == wrong).mean(), f1])


def _bias(model: SupportModel, own: Features) -> float:
    """Give the bias with the best accuracy."""
    chances = predict(model.model_copy(update={"bias": 0.0}), own.rows)
    logits = np.log(chances / (1 - chances))
    biases = -np.unique(logits)
    right = [((logits + bias > 0) == own.supported).mean() for bias in biases]
    return float(biases[int(np.argmax(right))])


def read_sets(data: Path, rows: int) -> Mapping[str, Sequence[Labelled]]:
    """Read sentences of the brands' stand-ins, and of the set that stands for everything else."""
    sets = {
        "quintd-wikidata": list(of_answers(load("quintd-wikidata", data))),
        "scitab": list(_scitab(data)),
        "contract_nli": list(_contracts(data)),
        ELSEWHERE: list(of_answers(Mix("shipped").validation(data)[ELSEWHERE])),
    }
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    return {name: rng.sample(found, min(rows, len(found))) for name, found in sets.items()}


def of_answers(answers: Sequence[LabelledAnswer]) -> Iterator[Labelled]:
    """Give the sentences of answers of which it is known where they are wrong."""
    for answer in answers:
        spans = answer.example.spans or ()
        if answer.example.label == "FAIL" and not spans:
            continue
        for start, end, text in split_sentences(answer.example.answer):
            wrong = any(span.start < end and start < span.end for span in spans)
            fields = {"answer": text, "spans": None, "label": None}
            yield Labelled(answer.example.model_copy(update=fields), not wrong)


def _scitab(data: Path) -> Iterator[Labelled]:
    for row in read_json(data / "scitab" / "sci_tab.json.gz"):
        table = "\n".join(
            " | ".join(cells) for cells in (row["table_column_names"], *row["table_content_values"])
        )
        context = (f"{row['table_caption']}\n\n{table}",)
        yield Labelled(Example(context=context, answer=row["claim"]), row["label"] == "supports")


def _contracts(data: Path) -> Iterator[Labelled]:
    content = json.loads((data / "contract_nli" / "dev.json").read_text(encoding="utf-8"))
    for document in content["documents"]:
        for key, found in document["annotation_sets"][0]["annotations"].items():
            claim = content["labels"][key]["hypothesis"]
            example = Example(context=(document["text"],), answer=claim)
            yield Labelled(example, found["choice"] == "Entailment")


def render(changes: Sequence[Change]) -> str:
    """Write the changes as a Markdown table: means over the draws, the least and the most."""
    lines = [
        "| 200 sentences of | measured on | accuracy before | after | F1 before | after |",
        "|---|---|---|---|---|---|",
    ]
    for change in changes:
        cells = []
        for column in (0, 1):
            before, after = change.before[:, column], change.after[:, column]
            cells += [
                f"{100 * part.mean():.1f} [{100 * part.min():.1f}, {100 * part.max():.1f}]"
                for part in (before, after)
            ]
        place = "the rest of it" if change.on == change.brand else change.on
        lines.append(f"| {change.brand} | {place} | {' | '.join(cells)} |")
    return "\n".join(lines)
