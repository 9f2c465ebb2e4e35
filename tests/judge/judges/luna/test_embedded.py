"""The weights in the package: whole, small enough, and right about what anybody would try first."""

import json
from pathlib import Path

import pytest

from moonlynx.judge.contract.types import Example
from moonlynx.judge.decision.calibration import load_calibration
from moonlynx.judge.files.stored import MANIFEST
from moonlynx.judge.judges.luna.weights import CALIBRATION, EMBEDDED
from moonlynx.judge.registry import load_judge
from moonlynx.recipes.luna.record import read_record

PLAIN = Path(__file__).parent / "plain.jsonl"
MOST_MB = 30


@pytest.fixture(scope="module")
def judge():
    return load_judge("luna")


def judged(judge, context, answer, question=""):
    (verdict,) = judge([Example(question=question, context=(context,), answer=answer)])
    return verdict


def test_the_folder_and_the_calibration_are_those_of_sets_that_may_be_shipped(judge):
    files = json.loads((EMBEDDED / MANIFEST).read_text())["files"]
    assert {path.name for path in EMBEDDED.iterdir()} == {
        *files,
        MANIFEST,
        "training.json",
        "README.md",
    }
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < MOST_MB * 1e6
    calibration = load_calibration(EMBEDDED / CALIBRATION)
    assert calibration.judge == judge.info
    assert calibration.fails >= 50
    verdict = judged(judge, "The bridge opened in 1932.", "It opened in 1932.")
    assert verdict.probability is not None
    record = read_record(EMBEDDED)
    assert record.mix == "shipped"
    assert [stage.name for stage in record.stages] == ["pairs", "answers"]


def test_what_is_wrong_is_found_and_marked(judge):
    verdict = judged(judge, "The bridge opened in 1932.", "It opened in 1950.")
    assert verdict.score == "FAIL"
    assert [span.text for span in verdict.spans] == ["1950"]
    assert judged(judge, "The bridge opened in 1932.", "It opened in 1932.").score == "PASS"
    verdict = judged(
        judge,
        "The bridge is 90 m long and was opened in 1932.",
        "The bridge is 90 m long. Tourists adore its golden lanterns.",
    )
    assert [sentence.label for sentence in verdict.sentences] == ["SUPPORTED", "UNSUPPORTED"]
    (evidence,) = verdict.sentences[0].evidence
    assert evidence.start == 0


def test_plain_cases():
    """As many as these weights get right; two of the rest are swaps within one sentence."""
    rows = [json.loads(line) for line in PLAIN.read_text().splitlines()]
    gold = [row.pop("label") for row in rows]
    verdicts = load_judge("luna")([Example.from_row(row) for row in rows])
    right = [verdict.score == label for verdict, label in zip(verdicts, gold, strict=True)]
    assert sum(right) >= 23
