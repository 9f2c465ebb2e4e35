import shutil
import subprocess

import pytest

from moonlynx.eval import provenance


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
