"""The weights in the package: whole, small enough, and right about what anybody would try first."""

import json
from pathlib import Path

import pytest
import yaml

from moonlynx.judge.contract.types import Example
from moonlynx.judge.decision.calibration import load_calibration
from moonlynx.judge.files.stored import MANIFEST
from moonlynx.judge.judges.luna.weights import CALIBRATION, EMBEDDED, MINI
from moonlynx.judge.registry import load_judge
from moonlynx.judge.text.sentences import split_sentences
from moonlynx.recipes.luna.record import read_record

PLAIN = Path(__file__).parent / "plain.jsonl"
MARKED = Path(__file__).parent / "marked.yaml"
DATES = Path(__file__).parents[2] / "plain" / "dates.jsonl"
MOST_MB = {"luna": 112, "luna:mini": 24}
LEAST_RIGHT = {"luna": 25, "luna:mini": 23}  # of the plain cases: as many as the weights get


@pytest.fixture(scope="module", params=["luna", "luna:mini"])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def folder(name):
    return EMBEDDED[MINI if name == "luna:mini" else None]


@pytest.fixture(scope="module")
def judge(name):
    return load_judge(name)


def judged(judge, context, answer, question=""):
    (verdict,) = judge([Example(question=question, context=(context,), answer=answer)])
    return verdict


def test_the_folder_and_the_calibration_are_those_of_sets_that_may_be_shipped(judge, name, folder):
    files = json.loads((folder / MANIFEST).read_text())["files"]
    assert {path.name for path in folder.iterdir()} == {
        *files,
        MANIFEST,
        "training.json",
        "README.md",
    }
    assert sum(path.stat().st_size for path in folder.iterdir()) < MOST_MB[name] * 1e6
    calibration = load_calibration(folder / CALIBRATION)
    assert calibration.judge == judge.info
    assert calibration.fails >= 50
    verdict = judged(judge, "The bridge opened in 1932.", "It opened in 1932.")
    assert verdict.probability is not None
    record = read_record(folder)
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


def test_a_fault_is_not_watered_down_by_a_sentence_said_over_and_over(judge):
    filler = " As stated in the document, all of this is stated in the document." * 40
    verdict = judged(judge, "The bridge opened in 1932.", f"It opened in 1950.{filler}")
    assert verdict.score == "FAIL"
    assert "1950" in [span.text for span in verdict.spans]


def test_plain_cases(judge, name):
    rows = [json.loads(line) for line in PLAIN.read_text().splitlines()]
    gold = [row.pop("label") for row in rows]
    verdicts = judge([Example.from_row(row) for row in rows])
    right = [verdict.score == label for verdict, label in zip(verdicts, gold, strict=True)]
    assert sum(right) >= LEAST_RIGHT[name]


@pytest.mark.heavy
@pytest.mark.parametrize("form", yaml.safe_load(MARKED.read_text(encoding="utf-8")))
def test_a_verbatim_sentence_passes_however_it_is_set(form):
    contexts = {json.loads(row)["context"][0] for row in DATES.read_text().splitlines()}
    first = {context: split_sentences(context)[0].text for context in contexts if context[0] != "{"}
    assert len(first) >= 12
    verdicts = load_judge("luna")(
        [
            Example(context=context, answer=form.format(text, stem=text.rstrip(".")))
            for context, text in sorted(first.items())
        ]
    )
    assert [verdict.raw_score for verdict in verdicts if verdict.score == "FAIL"] == []
