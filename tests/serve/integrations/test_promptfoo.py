"""The assertion within promptfoo itself, which npm installs: `make test-frameworks`."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from moonlynx.serve.integrations.promptfoo import get_assert

from ...running import run
from .rows import CONTEXT, JUDGE, RIGHT, WRONG

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.heavy


def test_what_has_no_score_does_not_pass():
    told = get_assert("aaaaaaaa", {"vars": {"context": CONTEXT}, "config": {"judge": JUDGE}})
    assert (told["pass"], told["score"]) == (False, 0.0)
    assert told["reason"].startswith("bad_input")


def test_promptfoo_fails_an_unsupported_output(tmp_path):
    program = os.environ.get("PROMPTFOO") or shutil.which("promptfoo")
    if program is None:
        pytest.skip("needs promptfoo (npm install promptfoo)")
    checks = [{"type": "python", "value": f"file://{ROOT}/serve/integrations/promptfoo.py"}]
    checks[0]["config"] = {"judge": JUDGE}
    config = {
        "prompts": ["{{answer}}"],
        "providers": ["echo"],
        "tests": [
            {"vars": {"answer": one, "context": " ".join(CONTEXT)}, "assert": checks}
            for one in (RIGHT, WRONG)
        ],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
    quiet |= {"PROMPTFOO_CONFIG_DIR": str(tmp_path), "PROMPTFOO_PYTHON": sys.executable}
    quiet |= {"PROMPTFOO_DISABLE_REMOTE_GENERATION": "1"}
    command = [program, "eval", "--no-cache", "--no-write", "--output", "out.json"]
    command += ["--config", "promptfooconfig.json"]
    done = run(*command, cwd=tmp_path, env=os.environ | quiet)
    assert (tmp_path / "out.json").exists(), done.stdout[-2000:] + done.stderr[-2000:]
    results = json.loads((tmp_path / "out.json").read_text())["results"]["results"]
    found = {one["vars"]["answer"]: one["gradingResult"] for one in results}
    assert found[RIGHT]["pass"]
    assert not found[WRONG]["pass"]
    assert "Peter Smith" in found[WRONG]["reason"]
