"""The floors hold, and an import that breaks them is seen."""

import importlib
import inspect
import os
import re
import sys
from pathlib import Path

import pytest

import moonlynx

from ..running import run

ROOMS = ("judge", "eval", "serve", "recipes", "halubench", "model_card")
# Each by itself is against the contract of this name.
PLANTED = {
    "judge/planted.py": ("from moonlynx.eval import cli", "Floors: "),
    "eval/planted.py": ("from moonlynx import cli", "Floors: "),
    "judge/text/planted.py": ("from ..prompts import fill", "Floors inside judge"),
    "recipes/luna/planted.py": ("from .. import lynx", "Recipes are apart"),
    "recipes/data/planted.py": ("from .. import chat", "Floors inside recipes"),
}


def lint_imports(programs, folder):
    command = [programs / "lint-imports", "--config", folder / "pyproject.toml", "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    return run(*command, cwd=folder, env=environment)


@pytest.mark.heavy  # seconds; `make lint` sees a broken floor before
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
    done = run(*command, "src/moonlynx/eval/planted.py", cwd=tree)
    assert done.returncode == 1
    for room in ROOMS:
        assert f"TID251 `{room}` is banned: Import moonlynx.{room}." in done.stdout


def packages(package=moonlynx):
    """Yield every package of moonlynx, by following its folders (pkgutil hides broken ones)."""
    yield package
    for folder in package.__path__:
        for child in sorted(Path(folder).glob("*/__init__.py")):
            yield from packages(importlib.import_module(f"{package.__name__}.{child.parent.name}"))


WITH_CONTENTS = {one.__name__: one for one in packages() if hasattr(one, "__all__")}


def public_names(package):
    named = {
        name: getattr(value, "__module__", None)
        for name, value in vars(package).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    own = {name for name, module in named.items() if module == package.__name__}
    return own or named.keys()


@pytest.mark.parametrize("name", WITH_CONTENTS)
def test_all_is_what_there_is(name):
    package = WITH_CONTENTS[name]
    assert [one for one in package.__all__ if not hasattr(package, one)] == []
    assert [one for one in package.__all__ if one.startswith("_") and one != "__version__"] == []
    assert public_names(package) <= set(package.__all__)
    assert {"moonlynx", "moonlynx.judge.text"} <= WITH_CONTENTS.keys()
