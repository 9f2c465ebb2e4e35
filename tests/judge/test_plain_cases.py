"""The plain cases are whole, balanced, and cannot be told apart by the answer alone."""

import json
from collections import Counter
from pathlib import Path

import pytest

from moonlynx.judge.contract.types import Example
from moonlynx.judge.rows.examples import read_rows

FOLDER = Path(__file__).parent / "plain"
KINDS = {
    *("roles", "negation", "opposites", "units", "sums", "dates"),
    *("bare", "paraphrase", "quotes", "markup", "citations", "silence"),
}
FIELDS = {"id", "kind", "question", "context", "answer", "label"}
LIMIT = 0.62


def raw_rows(kind):
    lines = (FOLDER / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def rows():
    return [row for kind in sorted(KINDS) for row in raw_rows(kind)]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_rows_are_examples_and_halved(kind):
    rows = list(read_rows(FOLDER / f"{kind}.jsonl"))
    assert [row.example for row in rows if not isinstance(row.example, Example)] == []
    labels = Counter(row.example.label for row in rows)
    assert labels["PASS"] + labels["FAIL"] == len(rows) == 25
    assert labels["PASS"] in (12, 13)
    assert all(1 <= len(row.example.context) <= 4 for row in rows)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_wrong_words_are_marked_where_the_label_says_so(kind):
    for row in raw_rows(kind):
        wrong = {"spans", "relation"} if row["label"] == "FAIL" else set()
        assert FIELDS - {"question"} <= set(row) - wrong <= FIELDS, row["id"]
        assert wrong <= set(row), row["id"]
        assert row["kind"] == kind
        if wrong:
            assert row["relation"] in ("contradicted", "not_mentioned"), row["id"]
            assert row["spans"], row["id"]
        ends = [0]
        for span in row.get("spans", ()):
            assert ends[-1] <= span["start"] < span["end"], row["id"]
            assert row["answer"][span["start"] : span["end"]] == span["text"], row["id"]
            ends.append(span["end"])


def test_the_whole_is_halved_and_many_answers_are_long(rows):
    assert Counter(row["label"] for row in rows) == {"PASS": 150, "FAIL": 150}
    assert len({row["id"] for row in rows}) == 300
    keys = {(row.get("question"), *row["context"], row["answer"]) for row in rows}
    assert len(keys) == 300
    long = [row for row in rows if row["answer"].count(". ") + row["answer"].count("\n") >= 2]
    assert len(long) >= 100
    assert 0.4 < sum(row["label"] == "FAIL" for row in long) / len(long) < 0.6
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == KINDS


def auroc(rows, groups, values):
    pytest.importorskip("sklearn")
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    labels = np.array([row["label"] == "FAIL" for row in rows])
    numbers = np.unique(groups, return_inverse=True)[1]
    scores = np.zeros(len(rows))
    for number in range(numbers.max() + 1):
        out = numbers == number
        model = LogisticRegression(solver="liblinear").fit(values[~out], labels[~out])
        scores[out] = model.decision_function(values[out])
    return roc_auc_score(labels, scores)


def words(rows):
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import CountVectorizer

    count = CountVectorizer(token_pattern=r"\w+|[^\w\s]", binary=True)
    return count.fit_transform([row["answer"] for row in rows])


GROUPS = {
    "pair": lambda row: json.dumps(row["context"]),
    "kind": lambda row: row["kind"],
}


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_the_answers_words_do_not_tell_the_label(rows, group):
    assert 1 - LIMIT < auroc(rows, list(map(GROUPS[group], rows)), words(rows)) < LIMIT


def test_the_classifier_would_find_a_telling_word(rows):
    planted = [
        row | {"answer": f"Indeed, {row['answer']}"} if row["label"] == "FAIL" else row
        for row in rows
    ]
    assert auroc(planted, list(map(GROUPS["kind"], planted)), words(planted)) > 0.95


def test_the_answers_length_does_not_tell_the_label(rows):
    pytest.importorskip("sklearn")
    from sklearn.metrics import roc_auc_score

    wrong = [row["label"] == "FAIL" for row in rows]
    lengths = [len(row["answer"]) for row in rows]
    assert 1 - LIMIT < roc_auc_score(wrong, lengths) < LIMIT
