import shutil
import subprocess

import pytest

from moonlynx.eval import provenance
from moonlynx.judge.contract.spec import parse_spec
from moonlynx.judge.contract.types import JudgeInfo


@pytest.mark.parametrize(
    ("spec", "threshold"),
    [
        ("luna", "the judge's own"),
        ("luna?threshold=0.4", "0.4"),
        ("luna?preset=guard", "preset guard"),
    ],
)
def test_a_report_says_what_set_the_threshold(tmp_path, spec, threshold):
    verdicts = tmp_path / "verdicts.jsonl"
    verdicts.touch()
    run = provenance.JudgeRun.of(parse_spec(spec), JudgeInfo(name="luna", version="1"), verdicts)
    assert run.threshold == threshold


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_commit_is_that_of_the_code_and_of_no_repository_around_it(tmp_path, monkeypatch):
    code = tmp_path / "code.py"
    code.write_text("1\n")
    monkeypatch.setattr(provenance, "__file__", str(code))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def git(*arguments):
        identity = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert provenance.git_commit() is None
    git("init", "-q")
    assert provenance.git_commit() is None  # a repository that does not know the code
    git("add", "code.py")
    git("commit", "-q", "-m", "code")
    head = git("rev-parse", "HEAD")
    assert provenance.git_commit() == head
    code.write_text("2\n")
    assert provenance.git_commit() == f"{head}-dirty"
