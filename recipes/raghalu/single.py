"""Two tiers against a single model of three labels (the paper's ablation), on one encoder.

Both are fitted to the same sentences and read the same encoder, which stays as it is: two tiers are
the shipped regression over words and then one over the encoder's support; the single model is a
regression over the encoder's states of the sentence beside its documents.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.luna.support import SupportModel
from moonlynx.judge.luna.weights import open_weights
from moonlynx.judge.raghalu.weights import EMBEDDED, open_heads
from moonlynx.judge.types import Example

from ..luna.answers import LabelledAnswer
from ..luna.mixes import Mix
from ..luna.support import fit_support, least_supported, predict, read_features
from .brands import of_answers
from .families import Split, load_families, of_split
from .fit import embedded_judge
from .states import StateReader
from .tables import f1_of

Label = Literal["NO_INFO", "SUPPORTED", "UNSUPPORTED"]
LABELS: tuple[Label, ...] = ("NO_INFO", "SUPPORTED", "UNSUPPORTED")
Labels = NDArray[np.str_]
SETS = ("qa_feedback", "ragtruth_train_part")
_SEED = 0


class Labelled(NamedTuple):
    """A sentence as an answer beside documents, and its label."""

    example: Example
    label: Label


class Result(NamedTuple):
    """How a model does.

    Attributes:
        name: of the model.
        f1: by label.
        lost: share of the unsupported sentences that are called NO_INFO.
    """

    name: str
    f1: Mapping[Label, float]
    lost: float


def read_sentences(data: Path, split: Literal["train", "validation"]) -> list[Labelled]:
    """Give sentences of real answers, and our own NO-INFO ones beside the same documents.

    Our own are of the families of that name; the answers' sides are those of Luna's mix.

    Raises:
        DataNotFound: a set is not at `data`.
    """
    mix = Mix("shipped")
    held = mix.validation(data)
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    answers = [
        row
        for name in SETS
        for row in (mix.training(name, data) if split == "train" else held[name])
    ]
    families: Split = "train" if split == "train" else "test"
    return [*_of_answers(answers), *_of_families(families, answers, rng)]


def _of_answers(answers: Sequence[LabelledAnswer]) -> Iterator[Labelled]:
    for example, supported in of_answers(answers):
        yield Labelled(example, "SUPPORTED" if supported else "UNSUPPORTED")


def _of_families(
    split: Split, answers: Sequence[LabelledAnswer], rng: random.Random
) -> Iterator[Labelled]:
    for sentence in of_split(load_families(), split):
        if not sentence.verifiable:
            fields = {"answer": sentence.text, "spans": None, "label": None}
            yield Labelled(rng.choice(answers).example.model_copy(update=fields), "NO_INFO")


def compare(train: Sequence[Labelled], test: Sequence[Labelled]) -> list[Result]:
    """Fit both to `train`, and measure them on `test`.

    Raises:
        MissingExtra: scikit-learn or onnx is not installed.
    """
    gold = np.array([sentence.label for sentence in test])
    called = {
        "two tiers": two_tiers(train, test),
        "one model of three labels": one_model(train, test),
        "most frequent label": np.full(len(test), _most_frequent(gold)),
    }
    return [_measure(name, labels, gold) for name, labels in called.items()]


def two_tiers(train: Sequence[Labelled], test: Sequence[Labelled]) -> Labels:
    """Set aside what the shipped tier 1 does, and fit a regression over support to the others."""
    heads = open_heads(EMBEDDED).heads
    judge = embedded_judge(heads.model_copy(update={"support": SupportModel()}))
    rows, supported = [], []
    claiming = [sentence for sentence in train if sentence.label != "NO_INFO"]
    for claims, sentence in zip(
        read_features(judge, [sentence.example for sentence in claiming]), claiming, strict=True
    ):
        if (row := least_supported(claims)) is not None:
            rows.append(row)
            supported.append(sentence.label == "SUPPORTED")
    model = fit_support(np.array(rows), np.array(supported))
    found: list[Label] = []
    for claims in read_features(judge, [sentence.example for sentence in test]):
        row = least_supported(claims)
        if row is None:
            found.append("NO_INFO")
        else:
            found.append("SUPPORTED" if predict(model, row[None])[0] > 0.5 else "UNSUPPORTED")
    return np.array(found)


def one_model(train: Sequence[Labelled], test: Sequence[Labelled]) -> Labels:
    """Fit the single model, and call the sentences."""
    chances = OneModel(train).chances([sentence.example for sentence in test])
    return np.array([LABELS[index] for index in chances.argmax(axis=1)])


class OneModel:
    """A regression of three labels over the encoder's states of a sentence beside its documents."""

    def __init__(self, train: Sequence[Labelled]) -> None:
        """Fit it.

        Raises:
            MissingExtra: scikit-learn or onnx is not installed.
        """
        try:
            from sklearn.linear_model import LogisticRegression
            from sklearn.pipeline import make_pipeline
            from sklearn.preprocessing import StandardScaler
        except ImportError:
            raise MissingExtra("training", "train") from None
        self._reader = StateReader(open_weights(None, None))
        self._regression = make_pipeline(
            StandardScaler(), LogisticRegression(C=0.01, max_iter=1_000)
        )
        self._regression.fit(
            self._reader.beside([sentence.example for sentence in train]),
            [LABELS.index(sentence.label) for sentence in train],
        )

    def chances(self, examples: Sequence[Example]) -> NDArray[np.float64]:
        """Give P of each label for answers of one sentence, shape (answers, 3) as `LABELS`."""
        return np.asarray(self._regression.predict_proba(self._reader.beside(examples)))


def _most_frequent(gold: Labels) -> str:
    names, counts = np.unique(gold, return_counts=True)
    return str(names[int(np.argmax(counts))])


def _measure(name: str, called: Labels, gold: Labels) -> Result:
    wrong = gold == "UNSUPPORTED"
    return Result(
        name,
        {label: f1_of(called == label, gold == label) for label in LABELS},
        float((called[wrong] == "NO_INFO").mean()) if wrong.any() else 0.0,
    )


def render(results: Sequence[Result]) -> str:
    """Write the results as a Markdown table, in percent."""
    names = [f"F1 of {label}" for label in LABELS]
    lines = [
        f"| model | {' | '.join(names)} | mean F1 | UNSUPPORTED called NO_INFO |",
        f"|---|{'---|' * (len(names) + 2)}",
    ]
    for one in results:
        values = [one.f1[label] for label in LABELS]
        cells = [f"{100 * value:.1f}" for value in (*values, sum(values) / len(values), one.lost)]
        lines.append(f"| {one.name} | {' | '.join(cells)} |")
    return "\n".join(lines)
