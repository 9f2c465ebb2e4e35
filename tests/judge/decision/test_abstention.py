import json
from pathlib import Path

import numpy as np
import pytest

from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.types import Example, MoonlynxError, Verdict
from moonlynx.judge.decision.abstention import Abstaining
from moonlynx.judge.decision.calibration import Calibrated, CalibrationError
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.judges.detectors.token_similarity import TokenSimilarity
from moonlynx.judge.judges.lynx import LynxJudge
from moonlynx.judge.registry import load_judge

from ...cases import cases
from ...command import flat, moonlynx
from ...fitting import Scoring, fit

EXAMPLE = Example(context="The bridge opened in 1932.", answer="It opened in 1950.")
OVERLAP = TokenSimilarity()


def calibration(count=600, judge=OVERLAP.info):
    """Scores in (0, 1), of which the chance of FAIL is the square."""
    source = np.random.default_rng(0)
    scores = source.random(count).round(4)
    labels = np.where(source.random(count) < scores**2, "FAIL", "PASS")
    return fit(judge, scores.tolist(), labels.tolist())


FITTED = calibration()
CALIBRATED = Calibrated(OVERLAP, FITTED)


def test_what_is_not_low_enough_is_neither_passed_nor_failed():
    judge = Abstaining(CALIBRATED, 0.1)
    assert isinstance(judge, Judge)
    assert 0 < judge.passed_up_to < FITTED.threshold
    last, above = judge.passed_up_to, judge.passed_up_to + 1e-4
    scoring = Scoring(OVERLAP.info, [0.0, last, above, 1.0, None], FITTED.threshold)
    inner = Calibrated(scoring, FITTED)
    plain, found = inner([EXAMPLE] * 5), Abstaining(inner, 0.1)([EXAMPLE] * 5)
    assert [verdict.score for verdict in plain] == ["PASS", "PASS", "PASS", "FAIL", "PASS"]
    assert [verdict.score for verdict in found] == ["PASS", "PASS", None, "FAIL", None]
    assert [verdict.error and verdict.error.code for verdict in found] == [
        *(None, None, "abstained"),
        *(None, "abstained"),
    ]
    assert "at most 10 % of passed answers are hallucinated (95 % confidence)" in (
        found[2].error.message
    )
    assert found[4].error.message.startswith("there is no raw score")
    # All else is as it was, and the verdict still one that the contract allows.
    for before, after in zip(plain, found, strict=True):
        same = {"score", "error"}
        assert before.model_dump(exclude=same) == after.model_dump(exclude=same)
        assert Verdict.model_validate_json(after.model_dump_json()) == after


def test_less_risk_and_more_confidence_pass_less_also_as_options(fitted):
    strict, lax = Abstaining(CALIBRATED, 0.05), Abstaining(CALIBRATED, 0.15)
    assert strict.passed_up_to < lax.passed_up_to
    sure, unsure = Abstaining(CALIBRATED, 0.1, 0.99), Abstaining(CALIBRATED, 0.1, 0.8)
    assert sure.passed_up_to < unsure.passed_up_to
    name = f"token-similarity?calibration={fitted}&abstain=0.1"
    sure, strict = load_judge(name), load_judge(f"{name}&confidence=0.99")
    assert isinstance(sure, Abstaining)
    assert sure.passed_up_to == Abstaining(CALIBRATED, 0.1).passed_up_to
    assert strict.passed_up_to == Abstaining(CALIBRATED, 0.1, 0.99).passed_up_to


def test_an_unscored_verdict_keeps_its_own_error():
    judge = LynxJudge(FakeBackend(["I cannot say."]), model="m")
    abstaining = Abstaining(Calibrated(judge, calibration(judge=judge.info)), 0.1)
    assert abstaining([EXAMPLE])[0].error.code == "unparsed"


def test_an_old_or_missing_calibration_cannot_abstain():
    with pytest.raises(CalibrationError, match=r"token-similarity has no calibration.*=FILE"):
        Abstaining(OVERLAP, 0.1)
    older = FITTED.model_copy(update={"schema_version": "1.0", "curve": None})
    with pytest.raises(CalibrationError, match=r"version 1\.0.*anew with `moonlynx calibrate`"):
        Abstaining(Calibrated(OVERLAP, older), 0.1)


def test_too_few_rows_say_what_they_can_do_and_how_many_it_takes():
    few = calibration(60)
    with pytest.raises(CalibrationError) as raised:
        Abstaining(Calibrated(OVERLAP, few), 0.01)
    message = str(raised.value)
    assert "the 60 labelled rows" in message
    assert "at least 411 labelled rows" in message
    lowest = float(message.split("the lowest that can be is ")[1].split(". ")[0])
    Abstaining(Calibrated(OVERLAP, few), lowest)


@pytest.fixture
def fitted(tmp_path):
    path = tmp_path / "calibration.json"
    save_record(FITTED, path)
    return path


@pytest.mark.parametrize(("options", "error", "says"), cases(__file__, "bad_abstaining"))
def test_options_that_cannot_work_say_why(fitted, options, error, says):
    with pytest.raises(MoonlynxError) as raised:
        load_judge(f"token-similarity?{options.format(fitted)}")
    assert type(raised.value).__name__ == error
    assert says in str(raised.value)


# None, half and all of the content words are missing from the document.
ROWS = Path(__file__).with_name("overlap.jsonl")


def judge_command(*arguments):
    result = moonlynx("judge", *arguments)
    scores = [json.loads(line)["score"] for line in result.stdout.splitlines() if line[0] == "{"]
    return result.exit_code, scores, str(result.exception) + result.stderr


def test_the_command_line_leaves_rows_unscored(fitted):
    judge = ("--judge", f"token-similarity?calibration={fitted}", "--input", ROWS)
    assert judge_command(*judge)[:2] == (0, ["PASS", "PASS", "FAIL"])
    assert judge_command(*judge, "--abstain-at", "0.05")[:2] == (3, ["PASS", None, "FAIL"])
    both = ("--judge", f"{judge[1]}&abstain=0.2", *judge[2:], "--abstain-at", "0.1")
    code, _, error = judge_command(*both)
    assert code == 2
    assert "not both" in flat(error)
    cascade = ("--judge", "cascade(token-similarity,lynx)", "--input", ROWS)
    code, _, error = judge_command(*cascade, "--abstain-at", "0.1")
    assert code == 2
    assert "not with a cascade" in flat(error)


def test_a_run_that_abstains_is_not_mixed_with_one_that_does_not(fitted, tmp_path):
    output = ("--input", ROWS, "--output", tmp_path / "verdicts.jsonl")
    judge = ("--judge", f"token-similarity?calibration={fitted}")
    assert judge_command(*judge, *output)[0] == 0
    _, _, error = judge_command(*judge, *output, "--abstain-at", "0.05")
    assert "belongs to a run with another spec" in error
