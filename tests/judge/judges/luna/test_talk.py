"""Answers as assistants write them, by the judge that ships: openers, steps, lists, denials."""

import json
from collections import Counter
from pathlib import Path

import pytest

from moonlynx.eval.metrics import auroc
from moonlynx.judge.contract.types import Example
from moonlynx.judge.registry import load_judge

TALK = Path(__file__).with_name("talk.jsonl")


def answers():
    """Return the rows of the file, four answers of either label to each question."""
    return [
        {"question": row["question"], "context": tuple(row["context"]), **answer}
        for row in map(json.loads, TALK.read_text(encoding="utf-8").splitlines())
        for answer in row["answers"]
    ]


def test_the_answers_are_whole():
    rows = answers()
    assert Counter(row["label"] for row in rows) == {"PASS": 40, "FAIL": 40}
    assert all(row["wrong"] in row["text"] for row in rows if row["label"] == "FAIL")


@pytest.mark.slow
def test_answers_of_assistants_are_read():
    """AUROC was .61 when openers, steps and most denials were read as claims; now .71."""
    rows = answers()
    verdicts = load_judge("luna")(
        [
            Example(question=row["question"], context=row["context"], answer=row["text"])
            for row in rows
        ]
    )
    fails = [row["label"] == "FAIL" for row in rows]
    assert auroc(fails, [verdict.raw_score for verdict in verdicts]) >= 0.67
    stopped = Counter(
        row["label"] for row, verdict in zip(rows, verdicts, strict=True) if verdict.score == "FAIL"
    )
    assert stopped["PASS"] <= 12
    assert stopped["FAIL"] >= 20
