import numpy as np
import pytest

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.raghalu.checkable import terms
from moonlynx.recipes.data.answers import LabelledAnswer
from moonlynx.recipes.raghalu.checkable import (
    LOST,
    Labelled,
    choose_threshold,
    fit_checkable,
    unsupported_sentences,
    validation_answers,
)
from moonlynx.recipes.raghalu.families import load_families, of_split

from ...labelled_data import DATA, reads_all_data


@pytest.mark.heavy
def test_the_model_gives_the_probabilities_of_what_was_fitted():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    own = of_split(load_families(), "train")[::4]
    texts, silent = [s.text for s in own], [not s.verifiable for s in own]
    model = fit_checkable([Labelled(s.text, s.verifiable) for s in own])
    reader = TfidfVectorizer(analyzer=terms, sublinear_tf=True, min_df=2)
    regression = LogisticRegression(C=10.0, class_weight="balanced", max_iter=1_000)
    regression.fit(reader.fit_transform(texts), silent)
    asked = [s.text for s in of_split(load_families(), "test")[::8]]
    expected = regression.predict_proba(reader.transform(asked))[:, 1]
    assert [model.probability(text) for text in asked] == pytest.approx(expected, abs=2e-3)


def test_the_threshold_loses_no_more_than_told_of_marked_sentences():
    lost = np.linspace(0.0, 0.99, 1_000)
    threshold = choose_threshold(lost)
    assert (lost >= threshold).mean() <= LOST
    assert (lost >= threshold - 0.002).mean() > LOST
    assert choose_threshold(np.full(100, 0.2)) == 0.5
    assert choose_threshold(np.array([])) == 0.5
    answer = "Sure. It opened in 1950. It is long."
    span = {"start": 19, "end": 23, "text": "1950"}
    row = {"context": "x", "answer": answer, "label": "FAIL", "spans": [span]}
    example = Example.from_row(row)
    found = unsupported_sentences([LabelledAnswer(example, True, "x")])
    assert list(found) == ["It opened in 1950."]


@reads_all_data
def test_the_threshold_sees_no_test_row():
    # An answer alone can stand on both sides: "Unable to answer based on given passages."
    judged, held_out = (
        {("".join(" ".join(row.example.context).split()), row.example.answer) for row in rows}
        for rows in (validation_answers(DATA), load_benchmark("ragtruth", data=DATA).rows)
    )
    assert len(judged) > 500
    assert len(held_out) > 2_500
    assert not judged & held_out
