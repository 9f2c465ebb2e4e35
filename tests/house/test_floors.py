"""The floors hold, and a wall put in the wrong place is seen."""

import os
import subprocess
import sys

import pytest

FLOORS = "Floors: a room imports only from floors below it"
INSIDE = "Floors inside judge"


def lint_imports(programs, folder):
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    return subprocess.run(
        [programs / "lint-imports", "--config", folder / "pyproject.toml", "--no-cache"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_floors_hold(programs, root):
    done = lint_imports(programs, root)
    assert done.returncode == 0, done.stdout
    assert f"{FLOORS} KEPT" in done.stdout
    assert f"{INSIDE} KEPT" in done.stdout


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("judge/planted.py", "from moonlynx.eval import cli", FLOORS),
        ("judge/text/planted.py", "import moonlynx.cli", FLOORS),
        ("eval/planted.py", "from moonlynx import cli", FLOORS),
        ("judge/text/planted.py", "from ..prompts import fill", INSIDE),
        ("judge/backends/planted.py", "from .. import registry", INSIDE),
    ],
)
def test_a_planted_import_is_caught(file, line, broken, programs, copy_repository, tmp_path):
    tree = copy_repository(tmp_path)
    (tree / file).write_text(f"{line}\n")
    done = lint_imports(programs, tree)
    assert done.returncode == 1
    assert f"{broken} BROKEN" in done.stdout
    assert "planted" in done.stdout


@pytest.mark.parametrize("room", ["judge", "eval", "serve"])
def test_a_room_imported_by_its_bare_name_is_caught(room, copy_repository, tmp_path):
    tree = copy_repository(tmp_path)
    (tree / "eval" / "planted.py").write_text(
        f'"""A file."""\n\nimport {room}\n\n__all__ = ["{room}"]\n'
    )
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise"]
    done = subprocess.run(
        [*command, "src/moonlynx/eval/planted.py"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"TID251 `{room}` is banned: Import moonlynx.{room}." in done.stdout
