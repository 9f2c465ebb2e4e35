"""What is built, a wheel by way of the sdist, is what is in the tree, and it judges."""

import json
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from ..running import run

pytestmark = pytest.mark.heavy  # a build

SIZE_LIMIT = 95_000_000  # bytes
# To go on from in a longer run: in the repository, and no judge that a wheel should hold.
ADAPTERS = Path("recipes/lynx/qwen-0.5b-score")


@pytest.fixture(scope="module")
def tree(copy_repository, tmp_path_factory):
    return copy_repository(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="module")
def wheel(tree, tmp_path_factory):
    output = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", output, tree]
    done = run(*command, cwd=output)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (wheel,) = output.glob("*.whl")
    return wheel


def contents(wheel):
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_tree(wheel, tree, tracked):
    rooms = {path.name for path in tracked if (tree / path).is_symlink()}
    assert {"judge", "eval"} <= rooms
    expected = {}
    for path in tracked:
        if (tree / path).is_symlink() or ADAPTERS in path.parents:
            continue
        if path.parts[0] in rooms:
            expected[f"moonlynx/{path.as_posix()}"] = (tree / path).read_bytes()
        elif path.parts[:2] == ("src", "moonlynx"):
            expected[path.relative_to("src").as_posix()] = (tree / path).read_bytes()
    packed = contents(wheel)
    package = {name: data for name, data in packed.items() if ".dist-info/" not in name}
    assert sorted(package) == sorted(expected)
    assert package == expected
    for name in (
        "judge/contract/types.py",
        "judge/contract/schemas/verdict.json",
        "judge/prompts/lynx-v1.txt",
    ):
        assert f"moonlynx/{name}" in package
    assert "moonlynx/py.typed" in package


def test_the_wheel_says_what_it_is(wheel, tree):
    packed = {name.partition("/")[2]: data for name, data in contents(wheel).items()}
    assert packed["top_level.txt"].decode().split() == ["moonlynx"]
    assert packed["licenses/LICENSE"] == (tree / "LICENSE").read_bytes()
    assert "moonlynx = moonlynx.cli:main" in packed["entry_points.txt"].decode()
    assert "\nName: moonlynx\n" in packed["METADATA"].decode()
    assert wheel.stat().st_size < SIZE_LIMIT


def test_the_unpacked_wheel_judges(wheel, tmp_path, user_environment):
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "elsewhere").mkdir()
    program = "import moonlynx, moonlynx.cli as cli; print(moonlynx.__file__); cli.main()"
    command = [sys.executable, "-c", program, "judge", "--format", "json"]
    command += ["--context", "It opened in 1932.", "--answer", "It opened in 1932."]
    environment = user_environment | {"PYTHONPATH": str(tmp_path / "site")}
    done = run(*command, cwd=tmp_path / "elsewhere", env=environment)
    assert done.returncode == 0, done.stderr
    where, verdict = done.stdout.splitlines()
    assert json.loads(verdict)["score"] == "PASS"
    assert where == str(tmp_path / "site" / "moonlynx" / "__init__.py")
