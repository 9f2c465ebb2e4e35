"""Files that earlier versions wrote are read: 0.9.0 wrote those beside this, 0.10.0 the same bytes.

They ran `judge`, `calibrate` and `cascade` over the bundled examples, by token-similarity; the
second judge of the cascade was called `luna`, and is `luna:mini` since 0.11.0.
"""

import json
import shutil
from pathlib import Path

import pytest

from moonlynx.judge.batch.judging import read_verdicts
from moonlynx.judge.decision.calibration import load_calibration
from moonlynx.judge.decision.policy import load_policy
from moonlynx.judge.registry import load_judge
from moonlynx.judge.rows.examples import read_rows


@pytest.fixture
def written(tmp_path):
    return Path(shutil.copytree(Path(__file__).with_name("0.9.0"), tmp_path / "written"))


def test_verdicts_are_read(written):
    verdicts = list(read_verdicts(written / "verdicts.jsonl"))
    assert [verdict.score for verdict in verdicts] == ["PASS", "FAIL", "PASS", "FAIL"]
    lines = (written / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    for verdict, line in zip(verdicts, lines, strict=True):
        assert still_says(verdict.model_dump(mode="json"), json.loads(line))


def still_says(found, written):
    """Return whether all that was written is found; fields may have been added since."""
    if isinstance(written, dict):
        return all(still_says(found[name], value) for name, value in written.items())
    if isinstance(written, list):
        pairs = zip(found, written, strict=True)
        return len(found) == len(written) and all(still_says(*pair) for pair in pairs)
    return bool(found == written)


def test_a_run_is_resumed(written, command_line):
    path = written / "verdicts.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    words = ("--judge", "token-similarity", "--input", written / "rows.jsonl", "--output", path)
    code, _, error = command_line("judge", *words)
    assert (code, path.read_bytes().splitlines(keepends=True)[:2]) == (0, lines[:2]), error
    assert [one.score for one in read_verdicts(path)] == ["PASS", "FAIL", "PASS", "FAIL"]


def test_a_calibration_still_decides(written):
    fitted = load_calibration(written / "calibration.json")
    judge = load_judge(f"token-similarity?calibration={written / 'calibration.json'}")
    verdicts = judge([row.example for row in read_rows(written / "rows.jsonl")])
    assert [v.score for v in verdicts] == ["PASS", "FAIL", "PASS", "FAIL"]
    assert all(0 < v.probability < 1 for v in verdicts)
    assert fitted.threshold == 0.31665


def test_a_policy_still_defers(written):
    policy = load_policy(written / "policy.json")
    assert (policy.pass_up_to, policy.fail_from) == (0.31665, 0.75)
    judge = load_judge(f"cascade(token-similarity,luna:mini)?policy={written / 'policy.json'}")
    assert judge.info.name == "cascade(token-similarity,luna)"
