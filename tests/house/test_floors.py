"""The floors hold, and an import that breaks them is seen."""

import os
import re
import subprocess
import sys

ROOMS = ("judge", "eval", "serve", "recipes", "halubench", "model_card")
# Each by itself is against the contract of this name.
PLANTED = {
    "judge/planted.py": ("from moonlynx.eval import cli", "Floors: "),
    "eval/planted.py": ("from moonlynx import cli", "Floors: "),
    "judge/text/planted.py": ("from ..prompts import fill", "Floors inside judge"),
    "recipes/luna/planted.py": ("from .. import lynx", "Recipes are apart"),
    "recipes/data/planted.py": ("from .. import chat", "Floors inside recipes"),
}


def run(command, folder, **environment):
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def lint_imports(programs, folder):
    command = [programs / "lint-imports", "--config", folder / "pyproject.toml", "--no-cache"]
    return run(command, folder, PYTHONPATH=str(folder / "src"), COLUMNS="200")


def test_the_floors_hold_and_planted_imports_are_caught(programs, root, copy_repository, tmp_path):
    done = lint_imports(programs, root)
    assert done.returncode == 0, done.stdout
    tree = copy_repository(tmp_path)
    for file, (line, _) in PLANTED.items():
        (tree / file).write_text(f"{line}\n")
    done = lint_imports(programs, tree)
    assert done.returncode == 1
    for file, (_, contract) in PLANTED.items():
        assert re.search(rf"^{contract}.* BROKEN", done.stdout, re.MULTILINE)
        module = file.removesuffix(".py").replace("/", ".")
        assert f"moonlynx.{module} -> moonlynx." in done.stdout


def test_a_room_imported_by_its_bare_name_is_caught(copy_repository, tmp_path):
    tree = copy_repository(tmp_path)
    (tree / "eval" / "planted.py").write_text("".join(f"import {room}\n" for room in ROOMS))
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise"]
    done = run([*command, "src/moonlynx/eval/planted.py"], tree)
    assert done.returncode == 1
    for room in ROOMS:
        assert f"TID251 `{room}` is banned: Import moonlynx.{room}." in done.stdout
