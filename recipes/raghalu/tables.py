"""What tier 1 is measured on, and the table of its candidates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.luna.weights import open_weights
from moonlynx.judge.text import claims_nothing

from ..luna.answers import LabelledAnswer
from ..luna.answers.base import labelled, read_lines
from ..luna.exclusions import DataNotFound
from ..luna.mixes import Mix
from .checkable import (
    Labelled,
    choose_threshold,
    fit_checkable,
    training_sentences,
    unsupported_sentences,
    validation_answers,
)
from .families import load_families, of_split
from .states import StateReader

Probabilities = NDArray[np.float64]
Score = Callable[[Sequence[str]], Probabilities]
"""Gives P(NO-INFO) of each sentence, shape (sentences,)."""


class TestSets(NamedTuple):
    """Sentences by set: those with labels of both kinds, and those that people marked."""

    labelled: Mapping[str, Sequence[Labelled]]
    unsupported: Mapping[str, Sequence[str]]


class Result(NamedTuple):
    """How a candidate does.

    Attributes:
        name: of the candidate.
        threshold: on P(NO-INFO), fitted on validation answers.
        f1: of NO-INFO and of VERIFIABLE by labelled set.
        found: NO-INFO sentences found, of how many, by labelled set.
        lost: share of the marked sentences that are called NO-INFO, by set.
    """

    name: str
    threshold: float
    f1: Mapping[str, tuple[float, float]]
    found: Mapping[str, tuple[int, int]]
    lost: Mapping[str, float]


def test_sets(data: Path) -> TestSets:
    """Read what is measured on; `raghalu1_test` and `ragtruth_test` are read for nothing else."""
    families = load_families()
    own = {
        f"families, {split}": [Labelled(s.text, s.verifiable) for s in of_split(families, split)]
        for split in ("validation", "test")
    }
    return TestSets(
        {**own, "raghalu1_test": read_raghalu1(data)},
        {
            "qa_feedback, validation": list(
                unsupported_sentences(Mix("shipped").validation(data)["qa_feedback"])
            ),
            "ragtruth_test": list(unsupported_sentences(read_ragtruth_test(data))),
        },
    )


def read_raghalu1(data: Path) -> list[Labelled]:
    """Read the published test sentences of RAGHalu's first tier."""
    rows = read_lines(data / "raghalu1_test" / "test.jsonl")
    turns = (row["conversation"] for row in rows)
    return [Labelled(text["content"], label["content"] == 1) for text, label in turns]


def read_ragtruth_test(data: Path) -> list[LabelledAnswer]:
    """Read RAGTruth's test answers: FAIL where people marked a span."""
    return [
        labelled(
            "ragtruth_test",
            f"{row['source_id']}-{row['model']}",
            "FAIL" if row["labels"] else "PASS",
            context=row["context"]
            if isinstance(row["context"], str)
            else json.dumps(row["context"]),
            answer=row["response"],
            question=row["question"] or "",
            spans=[(span["start"], span["end"]) for span in row["labels"]],
        )
        for row in read_lines(data / "ragtruth_test" / "ragtruth_test.jsonl.gz")
    ]


def candidates(data: Path) -> dict[str, Score]:
    """Fit the candidates: the rules that Luna has, the regression, and one over Luna's states."""
    training = training_sentences(data)
    model = fit_checkable(training)
    return {
        "rules of judge/text/claims.py": lambda texts: np.array(
            [float(claims_nothing(text)) for text in texts]
        ),
        "regression over words": lambda texts: np.array(
            [model.probability(text) for text in texts]
        ),
        "regression over Luna's states": _over_states(training),
    }


def _over_states(training: Sequence[Labelled]) -> Score:
    """Fit a regression over the embedded encoder's states of the sentence alone."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    reader = StateReader(open_weights(None, None))
    regression = make_pipeline(
        StandardScaler(), LogisticRegression(C=0.01, class_weight="balanced", max_iter=1_000)
    )
    labels = [not sentence.verifiable for sentence in training]
    regression.fit(reader.alone([sentence.text for sentence in training]), labels)

    def score(texts: Sequence[str]) -> Probabilities:
        return np.asarray(regression.predict_proba(reader.alone(texts))[:, 1])

    return score


def measure(name: str, score: Score, lost: Sequence[str], sets: TestSets) -> Result:
    """Fit a candidate's threshold on `lost`, and measure it.

    Args:
        name: of the candidate.
        score: gives P(NO-INFO).
        lost: marked sentences of validation answers.
        sets: what to measure on.
    """
    threshold = choose_threshold(score(lost))
    f1, found = {}, {}
    for each, sentences in sets.labelled.items():
        called = score([sentence.text for sentence in sentences]) >= threshold
        silent = np.array([not sentence.verifiable for sentence in sentences])
        f1[each] = (f1_of(called, silent), f1_of(~called, ~silent))
        found[each] = (int((called & silent).sum()), int(silent.sum()))
    shares = {
        each: float((score(texts) >= threshold).mean()) for each, texts in sets.unsupported.items()
    }
    return Result(name, threshold, f1, found, shares)


def f1_of(called: NDArray[np.bool_], gold: NDArray[np.bool_]) -> float:
    """Give F1, 0 where nothing is found."""
    right = int((called & gold).sum())
    return 2 * right / max(1, int(called.sum()) + int(gold.sum()))


def tier_one(data: Path) -> list[Result]:
    """Measure all candidates.

    Raises:
        DataNotFound: a set is not at `data`.
        MissingExtra: scikit-learn or onnx is not installed.
    """
    if not (data / "raghalu1_test").is_dir():
        raise DataNotFound(data / "raghalu1_test")
    lost, sets = list(unsupported_sentences(validation_answers(data))), test_sets(data)
    return [measure(name, score, lost, sets) for name, score in candidates(data).items()]


def render(results: Sequence[Result]) -> str:
    """Write the table in Markdown."""
    first = results[0]
    names = [f"F1 {kind}, {each}" for each in first.f1 for kind in ("NO-INFO", "VERIFIABLE")]
    header = ["tier 1", "threshold", *names]
    header += [f"NO-INFO found, {each}" for each in first.found]
    header += [f"lost, {each}" for each in first.lost]
    lines = [header, ["---"] * len(header)]
    for result in results:
        cells = [result.name, f"{result.threshold:.4f}"]
        cells += [f"{value:.3f}" for pair in result.f1.values() for value in pair]
        cells += [f"{right} of {count}" for right, count in result.found.values()]
        cells += [f"{share:.2%}" for share in result.lost.values()]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
