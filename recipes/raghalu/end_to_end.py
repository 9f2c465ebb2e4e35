"""Two tiers against a single model of three labels, end to end: whole answers of RAGTruth's test.

The two tiers are the judge that ships, the single model is that of `single.py`. An answer is
hallucinated where a sentence is unsupported. RAGTruth's test split is only measured on.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.base import Judge
from moonlynx.judge.types import Example, SentenceLabel, Verdict

from ..luna.answers import LabelledAnswer
from ..luna.mixes import Mix
from .single import LABELS, SETS, OneModel, read_sentences
from .tables import f1_of, read_ragtruth_test
from .tier2 import Figure, over_draws

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_UNSUPPORTED = LABELS.index("UNSUPPORTED")
_SEED = 0


class Called(NamedTuple):
    """What a system says of answers.

    Attributes:
        labels: of each answer's sentences.
        fail: whether each answer is called hallucinated, shape (answers,).
        scores: the worst sentence's, higher for worse, shape (answers,).
    """

    labels: Sequence[Sequence[SentenceLabel]]
    fail: Flags
    scores: Floats


class Result(NamedTuple):
    """How a system does.

    Attributes:
        name: of the system, and how it decides.
        accuracy, balanced, f1, auroc: of answers; F1 is that of FAIL.
        sentences: F1 of UNSUPPORTED over sentences; None where it is of another threshold.
        lost: share of the unsupported sentences that are called NO_INFO; None likewise.
    """

    name: str
    accuracy: Figure
    balanced: Figure
    f1: Figure
    auroc: Figure
    sentences: Figure | None = None
    lost: Figure | None = None


class Counts(NamedTuple):
    """Sentences: `right` are called UNSUPPORTED rightly, `lost` are so but called NO_INFO."""

    right: int
    called: int
    wrong: int
    lost: int


class Sample(NamedTuple):
    """Answers to measure on, or to fit thresholds on, and what the two tiers say of them."""

    answers: Sequence[LabelledAnswer]
    verdicts: Sequence[Verdict]

    @property
    def fail(self) -> Flags:
        """Say which answers are labelled FAIL."""
        return np.array([answer.example.label == "FAIL" for answer in self.answers])


def draw_test(data: Path, rows: int) -> list[LabelledAnswer]:
    """Draw test answers, the same each time."""
    return _draw(read_ragtruth_test(data), rows)


def draw_validation(data: Path, rows: int) -> list[LabelledAnswer]:
    """Draw answers of the sets that the single model is fitted to, none of which it has seen."""
    held = Mix("shipped").validation(data)
    return _draw([answer for name in SETS for answer in held[name]], rows)


def _draw(answers: Sequence[LabelledAnswer], rows: int) -> list[LabelledAnswer]:
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    return rng.sample(answers, min(rows, len(answers)))


def compare(judge: Judge, data: Path, rows: int) -> list[Result]:
    """Judge so many test answers with both, each as it decides and at a threshold fitted for both.

    Args:
        judge: the two tiers; it labels sentences.
        data: folder with the labelled data.
        rows: test answers, and validation answers for the thresholds.

    Raises:
        DataNotFound: a set is not at `data`.
        MissingExtra: scikit-learn or onnx is not installed.
    """
    test, held = (
        Sample(answers, judge([answer.example for answer in answers]))
        for answers in (draw_test(data, rows), draw_validation(data, rows))
    )
    model = OneModel(read_sentences(data, "train"))
    systems = {
        "two tiers": (call_two_tiers(test), call_two_tiers(held)),
        "one model of three labels": (call_one_model(model, test), call_one_model(model, held)),
    }
    results = []
    for name, (called, before) in systems.items():
        results.append(measure(f"{name}, as it decides", called, test))
        threshold = best_threshold(before.scores, held.fail)
        fitted = called._replace(fail=called.scores >= threshold)
        whole = measure(f"{name}, threshold of the validation answers", fitted, test)
        results.append(whole._replace(sentences=None, lost=None))
    return results


def call_two_tiers(sample: Sample) -> Called:
    """Read the verdicts."""
    return Called(
        [[sentence.label for sentence in verdict.sentences] for verdict in sample.verdicts],
        np.array([verdict.score == "FAIL" for verdict in sample.verdicts]),
        np.array([verdict.raw_score or 0.0 for verdict in sample.verdicts]),
    )


def call_one_model(model: OneModel, sample: Sample) -> Called:
    """Call the very sentences that the two tiers were asked about, each by itself."""
    labels: list[list[SentenceLabel]] = []
    scores = []
    for answer, verdict in zip(sample.answers, sample.verdicts, strict=True):
        chances = model.chances(_alone(answer.example, verdict))
        labels.append([LABELS[index] for index in chances.argmax(axis=1)])
        scores.append(chances[:, _UNSUPPORTED].max())
    return Called(labels, np.array(["UNSUPPORTED" in each for each in labels]), np.array(scores))


def _alone(example: Example, verdict: Verdict) -> list[Example]:
    return [
        example.model_copy(
            update={"answer": example.answer[one.start : one.end], "spans": None, "label": None}
        )
        for one in verdict.sentences
    ]


def best_threshold(scores: Floats, fail: Flags) -> float:
    """Give the score from which calling answers FAIL has the best balanced accuracy."""
    found = np.unique(scores)
    return float(found[np.argmax([_balanced(scores >= each, fail) for each in found])])


def measure(name: str, called: Called, sample: Sample) -> Result:
    """Measure a system; intervals are over resampled answers."""
    from sklearn.metrics import roc_auc_score

    gold, said = sample.fail, called.fail
    counts = np.array(
        [
            _count(answer, verdict, labels)
            for answer, verdict, labels in zip(
                sample.answers, sample.verdicts, called.labels, strict=True
            )
        ]
    )

    def of_sentences(rows: NDArray[np.int64]) -> float:
        found = Counts(*counts[rows].sum(axis=0))
        return float(2 * found.right / max(1, found.called + found.wrong))

    def lost(rows: NDArray[np.int64]) -> float:
        found = Counts(*counts[rows].sum(axis=0))
        return float(found.lost / max(1, found.wrong))

    return Result(
        name,
        accuracy=over_draws(lambda rows: float((said[rows] == gold[rows]).mean()), gold),
        balanced=over_draws(lambda rows: _balanced(said[rows], gold[rows]), gold),
        f1=over_draws(lambda rows: f1_of(said[rows], gold[rows]), gold),
        auroc=over_draws(lambda rows: float(roc_auc_score(gold[rows], called.scores[rows])), gold),
        sentences=over_draws(of_sentences, gold),
        lost=over_draws(lost, gold),
    )


def _count(answer: LabelledAnswer, verdict: Verdict, labels: Sequence[SentenceLabel]) -> Counts:
    marked = answer.example.spans or ()
    wrong = [
        any(span.start < one.end and one.start < span.end for span in marked)
        for one in verdict.sentences
    ]
    called = [label == "UNSUPPORTED" for label in labels]
    return Counts(
        right=sum(map(operator.and_, called, wrong)),
        called=sum(called),
        wrong=sum(wrong),
        lost=sum(one and label == "NO_INFO" for one, label in zip(wrong, labels, strict=True)),
    )


def _balanced(called: Flags, gold: Flags) -> float:
    return float((called[gold].mean() + (~called[~gold]).mean()) / 2)


def render(results: Sequence[Result]) -> str:
    """Write the results as a Markdown table, in percent."""
    lines = [
        "| system | accuracy | balanced accuracy | F1 of FAIL | AUROC "
        "| F1 of UNSUPPORTED sentences | of them called NO_INFO |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, *figures in results:
        cells = [
            ""
            if figure is None
            else f"{100 * figure.value:.1f} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
            for figure in figures
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)
