"""What is measured of tier 2: figures that are what they say, and rows that are what they were."""

import json

import pytest

from moonlynx.judge.types import Example, JudgeInfo, Sentence, Verdict
from moonlynx.recipes.luna.answers.base import labelled
from moonlynx.recipes.luna.exclusions import DataNotFound
from moonlynx.recipes.raghalu.tier2 import measure, read_felm, render

pytestmark = pytest.mark.heavy

SCORES = {"right": 0.1, "wrong": 0.9, "hidden": 0.2, "accused": 0.8, "thanks": None}


def judge(examples):
    """Judge by the answer's one word."""
    return [verdict(example) for example in examples]


def verdict(example: Example) -> Verdict:
    raw = SCORES[example.answer]
    label = "NO_INFO" if raw is None else "UNSUPPORTED" if raw > 0.5 else "SUPPORTED"
    return Verdict(
        score="FAIL" if label == "UNSUPPORTED" else "PASS",
        raw_score=raw or 0.0,
        sentences=(Sentence(start=0, end=len(example.answer), label=label),),
        judge=JudgeInfo(name="words", version="1"),
    )


def rows(**labels):
    return [
        labelled("set", key, label, context="A text.", answer=key) for key, label in labels.items()
    ]


def test_figures_are_those_of_the_calls():
    (found,) = measure(
        judge, {"set": rows(right="PASS", wrong="FAIL", hidden="FAIL", accused="PASS")}
    )
    assert (found.rows, found.wrong, found.silent) == (4, 2, 0)
    assert (found.f1.value, found.accuracy.value, found.auroc.value) == (0.5, 0.5, 0.75)
    assert found.always == pytest.approx(2 / 3)
    assert found.f1.low < found.f1.value < found.f1.high


def test_a_wrong_claim_that_tier_1_sets_aside_is_missed():
    (found,) = measure(judge, {"set": rows(thanks="FAIL", wrong="FAIL", right="PASS")})
    assert found.silent == 1
    assert found.f1.value == pytest.approx(2 / 3)


def test_the_table_has_a_row_for_each_set_beside_the_majority():
    sets = {
        "one": rows(right="PASS", wrong="FAIL", accused="PASS"),
        "two": rows(wrong="FAIL", right="PASS"),
    }
    text = render(measure(judge, sets))
    assert "| one | 3 (1) | 0 | 66.7 [" in text
    assert "| 66.7 | 100.0 [100.0, 100.0] |" in text
    assert text.count("\n") == 3


def test_segments_of_felm_are_claims_of_their_own(tmp_path):
    with pytest.raises(DataNotFound):
        list(read_felm(tmp_path))
    row = {"index": "7", "prompt": "When?", "segmented_response": ["In 1932.", " ", "It is red."]}
    known = {**row, "labels": [True, True, False], "ref_contents": "It opened in 1932."}
    (tmp_path / "felm").mkdir()
    lines = [json.dumps(known), json.dumps({**known, "ref_contents": ""})]
    (tmp_path / "felm" / "felm_all.jsonl").write_text("\n".join(lines), encoding="utf-8")
    first, second = read_felm(tmp_path)
    assert (first.example.answer, first.example.label) == ("In 1932.", "PASS")
    assert (second.example.id, second.example.label) == ("felm/7-2", "FAIL")
    assert second.example.context == ("It opened in 1932.",)
