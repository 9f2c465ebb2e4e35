"""The commands run from any folder, also one that holds files named like our rooms."""

import subprocess
import sys

import pytest

CODE = """
import moonlynx.judge.registry, moonlynx.judge.contract.types, moonlynx.eval
judge = moonlynx.load_judge("token-similarity")
(verdict,) = judge([moonlynx.Example(context="It opened in 1932.", answer="It opened in 1932.")])
print(verdict.score)
"""


@pytest.fixture
def decoys(tmp_path):
    """Give a folder whose own modules bear our rooms' names, and say so if they are imported."""
    for name in ("eval", "recipes", "judge_", "text"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('decoy {name}')\n")
    for name in ("judge", "serve", "halubench", "model_card", "types_", "prompts", "cli"):
        (tmp_path / f"{name}.py").write_text(f"raise RuntimeError('decoy {name}')\n")
    return tmp_path


def run(command, folder, environment):
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.heavy
@pytest.mark.parametrize("start", ["command", "module"])
def test_the_command_line_runs_among_decoys(start, decoys, programs, user_environment):
    head = [programs / "moonlynx"] if start == "command" else [sys.executable, "-m", "moonlynx"]
    assert "judges" in run([*head, "--help"], decoys, user_environment)
    assert "token-similarity" in run([*head, "judges"], decoys, user_environment)


def test_the_package_is_imported_among_decoys(decoys, user_environment):
    output = run([sys.executable, "-c", CODE], decoys, user_environment)
    assert output.strip() == "PASS"


def test_the_decoys_would_be_noticed(decoys, user_environment):
    done = subprocess.run(
        [sys.executable, "-c", "import judge"],
        cwd=decoys,
        env=user_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "decoy judge" in done.stderr
