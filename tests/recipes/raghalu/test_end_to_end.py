"""Two tiers and a single model on whole answers: the figures are those of the calls."""

import numpy as np
import pytest

from moonlynx.judge.registry import load_judge
from moonlynx.judge.text import split_sentences
from moonlynx.judge.types import Example, JudgeInfo, Sentence, Verdict
from moonlynx.recipes.luna.answers.base import labelled
from moonlynx.recipes.raghalu.end_to_end import (
    Called,
    Sample,
    best_threshold,
    call_one_model,
    call_two_tiers,
    measure,
    render,
)
from moonlynx.recipes.raghalu.single import LABELS, Labelled, OneModel

pytestmark = pytest.mark.heavy  # scikit-learn

DOCUMENT = "The tower opened in 1932. It is red."
RIGHT, WRONG, THANKS = "The tower opened in 1932.", "It is made of tin.", "I hope this helps!"


def answer(key, text, wrong=None):
    start = text.find(wrong) if wrong else 0
    spans = [(start, start + len(wrong))] if wrong else []
    label = "FAIL" if wrong else "PASS"
    return labelled("made", key, label, context=DOCUMENT, answer=text, spans=spans)


def verdict(one, *labels):
    pieces = split_sentences(one.example.answer)
    fail = "UNSUPPORTED" in labels
    return Verdict(
        score="FAIL" if fail else "PASS",
        raw_score=0.9 if fail else 0.1,
        sentences=tuple(
            Sentence(start=piece.start, end=piece.end, label=label)
            for piece, label in zip(pieces, labels, strict=True)
        ),
        judge=JudgeInfo(name="made", version="1"),
    )


ANSWERS = [
    answer(1, f"{RIGHT} {THANKS}"),
    answer(2, f"{RIGHT} {WRONG}", WRONG),
    answer(3, f"{WRONG} {THANKS}", WRONG),
    answer(4, RIGHT),
]
SAMPLE = Sample(
    ANSWERS,
    [
        verdict(ANSWERS[0], "SUPPORTED", "NO_INFO"),
        verdict(ANSWERS[1], "SUPPORTED", "UNSUPPORTED"),
        verdict(ANSWERS[2], "NO_INFO", "NO_INFO"),
        verdict(ANSWERS[3], "UNSUPPORTED"),
    ],
)


def test_figures_are_those_of_the_calls():
    called = call_two_tiers(SAMPLE)
    assert called.fail.tolist() == [False, True, False, True]
    found = measure("two tiers", called, SAMPLE)
    assert (found.accuracy.value, found.balanced.value, found.f1.value) == (0.5, 0.5, 0.5)
    # One unsupported sentence of two is called so, and one that is supported.
    assert (found.sentences.value, found.lost.value) == (0.5, 0.5)
    assert found.accuracy.low <= 0.5 <= found.accuracy.high
    perfect = Called(called.labels, SAMPLE.fail, SAMPLE.fail.astype(float))
    right = measure("right", perfect, SAMPLE)
    assert (right.accuracy.value, right.auroc.value) == (1.0, 1.0)
    text = render([found, right._replace(sentences=None, lost=None)])
    assert text.splitlines()[2].startswith("| two tiers | 50.0 [")
    assert text.splitlines()[3].endswith("|  |  |")


def test_a_threshold_parts_the_labels():
    scores, fail = np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, False, True, True])
    assert best_threshold(scores, fail) == 0.6
    assert best_threshold(-scores, ~fail) == -0.4


def test_the_single_model_is_asked_about_the_same_sentences():
    def beside(text, label):
        return Labelled(Example(context=DOCUMENT, answer=text), label)

    said = {"NO_INFO": THANKS, "SUPPORTED": RIGHT, "UNSUPPORTED": WRONG}
    model = OneModel([beside(said[label], label) for label in LABELS for _ in range(4)])
    chances = model.chances([Example(context=DOCUMENT, answer=said[label]) for label in LABELS])
    assert chances.shape == (3, 3)
    assert chances.sum(axis=1) == pytest.approx(1)
    called = call_one_model(model, SAMPLE)
    assert [len(labels) for labels in called.labels] == [2, 2, 2, 1]
    assert called.labels[0] == ["SUPPORTED", "NO_INFO"]
    assert called.labels[2] == ["UNSUPPORTED", "NO_INFO"]
    assert called.fail.tolist() == [False, True, True, False]
    # The judge that ships gives a label for each sentence of an answer, so the two can be compared.
    judge = load_judge("raghalu")
    verdicts = judge([one.example for one in ANSWERS])
    assert [len(one.sentences) for one in verdicts] == [2, 2, 2, 1]
