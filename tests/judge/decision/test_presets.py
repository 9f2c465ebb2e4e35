import json

import numpy as np
import pytest

from moonlynx.judge.contract.spec import SpecError
from moonlynx.judge.contract.types import Example, JudgeInfo
from moonlynx.judge.decision.calibration import Calibration, CalibrationError
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.registry import load_judge

from ...cases import cases
from ...command import moonlynx
from ...fitting import fit

EXAMPLE = Example(context="The bridge was opened in 1932.", answer="The bridge is very popular.")


def draw(rng, count):
    failed = rng.random(count) < 0.4
    scores = np.clip(rng.normal(0.4 + 0.2 * failed, 0.15), 0, 1).round(4)
    return scores.tolist(), ["FAIL" if one else "PASS" for one in failed]


@pytest.fixture
def calibration():
    judge = load_judge("token-similarity").info
    return fit(judge, *draw(np.random.default_rng(0), 400))


def test_guard_and_audit_keep_their_errors_on_later_rows():
    """On the mean over draws, at most one in ten of either side is wrong."""
    rng, info = np.random.default_rng(1), JudgeInfo(name="any", version="1")
    stopped, passed = [], []
    for _ in range(60):
        presets = fit(info, *draw(rng, 60)).presets
        scores, labels = map(np.array, draw(rng, 400))
        stopped.append(np.mean(scores[labels == "PASS"] >= presets.guard))
        passed.append(np.mean(scores[labels == "FAIL"] < presets.audit))
        assert presets.guard > presets.audit
    assert 0.04 < np.mean(stopped) < 0.11
    assert 0.04 < np.mean(passed) < 0.11


def test_a_preset_sets_the_threshold(calibration, tmp_path):
    save_record(calibration, tmp_path / "fitted.json")
    assert calibration.presets.balanced == calibration.threshold
    for preset in ("guard", "balanced", "audit"):
        spec = f"token-similarity?calibration={tmp_path / 'fitted.json'}&preset={preset}"
        threshold = getattr(calibration.presets, preset)
        bare = load_judge(f"token-similarity?threshold={threshold}")
        assert [v.score for v in load_judge(spec)([EXAMPLE])] == [v.score for v in bare([EXAMPLE])]


def test_too_few_rows_of_a_label_and_older_files_have_no_preset(tmp_path, calibration):
    judge = load_judge("token-similarity").info
    few = fit(judge, [0.1] * 20 + [0.9] * 5, ["PASS"] * 20 + ["FAIL"] * 5)
    assert few.presets.audit is None
    assert few.presets.guard is not None
    save_record(few, tmp_path / "few.json")
    with pytest.raises(
        CalibrationError, match=r"preset=audit: fitted on too few rows \(25, 5 FAIL\)"
    ):
        load_judge(f"token-similarity?calibration={tmp_path / 'few.json'}&preset=audit")
    content = calibration.model_dump(mode="json", exclude={"presets"}) | {"schema_version": "1.1"}
    older = Calibration.model_validate(content)
    assert older.presets is None
    (tmp_path / "older.json").write_text(json.dumps(content))
    with pytest.raises(
        CalibrationError, match="no presets; fit it again with `moonlynx calibrate`"
    ):
        load_judge(f"token-similarity?calibration={tmp_path / 'older.json'}&preset=guard")


def test_the_command_line_takes_a_preset(calibration, tmp_path):
    save_record(calibration, tmp_path / "fitted.json")
    named = f"token-similarity?calibration={tmp_path / 'fitted.json'}"
    row = ("--context", EXAMPLE.context[0], "--answer", EXAMPLE.answer, "--format", "json")

    def score(*arguments):
        return json.loads(moonlynx("judge", *row, "--judge", *arguments).stdout)["score"]

    assert calibration.presets.audit < 0.5 < calibration.presets.guard
    assert [score(named, "--preset", preset) for preset in ("guard", "audit")] == ["PASS", "FAIL"]
    for judge, message in (
        (f"{named}&preset=audit", "give --preset or the judge's option preset=, not both"),
        (f"cascade({named},luna)", "--preset goes with one judge"),
    ):
        refused = moonlynx("judge", *row, "--judge", judge, "--preset", "guard")
        assert isinstance(refused.exception, SpecError)
        assert message in str(refused.exception)


@pytest.mark.parametrize(("spec", "message"), cases(__file__, "refused"))
def test_what_cannot_be_is_refused(spec, message):
    with pytest.raises(SpecError, match=message):
        load_judge(spec)
