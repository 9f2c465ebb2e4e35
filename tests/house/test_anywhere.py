import sys

import pytest

from ..running import run

CODE = """
import moonlynx.judge.contract.types, moonlynx.eval
judge = moonlynx.load_judge("token-similarity")
(verdict,) = judge([moonlynx.Example(context="It opened in 1932.", answer="It opened in 1932.")])
print(verdict.score)
"""


@pytest.fixture
def decoys(tmp_path):
    """Return a folder whose own modules bear our rooms' names, and say so if they are imported."""
    for name in ("eval/__init__", "recipes/__init__", "text/__init__", "judge", "serve", "cli"):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"raise RuntimeError('decoy {name}')\n")
    return tmp_path


@pytest.mark.heavy
@pytest.mark.parametrize("start", ["command", "module"])
def test_the_command_line_runs_among_decoys(start, decoys, programs, user_environment):
    head = [programs / "moonlynx"] if start == "command" else [sys.executable, "-m", "moonlynx"]
    done = run(*head, "judges", cwd=decoys, env=user_environment)
    assert "token-similarity" in done.stdout, done.stderr


def test_the_package_is_imported_among_decoys(decoys, user_environment):
    done = run(sys.executable, "-c", CODE, cwd=decoys, env=user_environment)
    assert done.stdout.strip() == "PASS", done.stderr
    noticed = run(sys.executable, "-c", "import judge", cwd=decoys, env=user_environment)
    assert "decoy judge" in noticed.stderr
