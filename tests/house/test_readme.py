"""Every block of the README and of the pages in docs/ does what it says.

`python` and `bash` blocks of a page run one after the other in one folder, empty at first, with the
console commands on the path and the Hub switched off. A `text` or `json` block that follows at once
is what the block prints, but for white space at the ends of lines, the layout of JSON, and what
scores are on another processor. `moonlynx serve` answers at its own port meanwhile.

`make` and `source` are not run; make's targets must exist. Blocks under `<!-- needs: server -->`
(or `gpu`, `hub`, `files`) are not run either: their `moonlynx` commands must parse, the names of
judges in them too.
"""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from typer.testing import CliRunner

from moonlynx.cli import app
from moonlynx.judge.contract.spec import parse_spec

from ..cases import cases
from ..running import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NEEDS = {"server", "gpu", "hub", "files"}
START_LIMIT = 10  # tries to connect, each after twice the pause of the one before: four minutes
NOT_RUN = "make() { :; }; source() { :; }\n"
# Print the words of each `moonlynx` command, wherever its output goes, and run nothing.
PRINTED = """
exec 3>&1
moonlynx() { printf '%q ' "$@" >&3; echo >&3; }
vllm() { :; }; curl() { :; }
"""
_SCORE = re.compile(r"(?<![\w.-])(?:0\.\d+|1\.0+)(?!\w|\.\d)")  # in [0, 1]; no part of a version
_ROUNDING = 0.05  # int8 activations move a score by as much between processors
_BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>\w+) -->\s*\n)?^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A fenced block; `output` is what it should print, as language and text."""

    line: int
    language: str
    body: str
    needs: str | None = None
    output: tuple[str, str] | None = None


def read_blocks(text):
    found = list(_BLOCK.finditer(text))
    for match, following in zip_longest(found, found[1:]):
        output = None
        if (
            following
            and following["language"] in ("text", "json")
            and not text[match.end() : following.start()].strip()
        ):
            output = (following["language"], following["body"])
        if match["language"] in ("python", "bash"):
            line = text.count("\n", 0, match.start("body"))
            yield Block(line, match["language"], match["body"], match["needs"], output)


def lines(language, text):
    if language == "json":
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    return [line.rstrip() for line in text.strip().splitlines()]


def same(expected, printed):
    """Whether lines are equal, but for scores that differ a little."""
    one, other = "\n".join(expected), "\n".join(printed)
    scores = [[float(score) for score in _SCORE.findall(text)] for text in (one, other)]
    return _SCORE.sub("#", one) == _SCORE.sub("#", other) and scores[0] == pytest.approx(
        scores[1], rel=0, abs=_ROUNDING
    )


def bash(script, folder, environment):
    return run("bash", "-euo", "pipefail", "-c", script, cwd=folder, env=environment)


def fault(block, folder, environment):
    if block.language == "python":
        script = f"{shlex.quote(sys.executable)} -c {shlex.quote(block.body)}"
    else:
        script = NOT_RUN + block.body
    done = bash(script, folder, environment)
    if done.returncode:
        return f"line {block.line} ended with {done.returncode}: {done.stderr[-2000:]}"
    if block.output is None:
        return None
    language, expected = block.output
    if same(lines(language, expected), lines(language, done.stdout)):
        return None
    return f"line {block.line} printed:\n{done.stdout}\nand not:\n{expected}"


@pytest.fixture(scope="module")
def blocks():
    return {path: list(read_blocks(path.read_text(encoding="utf-8"))) for path in PAGES}


@pytest.fixture(scope="module")
def server(user_environment):
    command = ["moonlynx", "serve"]
    with (
        subprocess.Popen(command, env=user_environment, stderr=subprocess.DEVNULL) as process,
        httpx.Client(transport=httpx.HTTPTransport(retries=START_LIMIT)) as client,
    ):
        try:
            client.get("http://127.0.0.1:8000/readyz", timeout=60).raise_for_status()
            yield
        finally:
            process.terminate()


@pytest.mark.heavy
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_does_what_it_says(page, blocks, tmp_path, user_environment):
    runnable = [block for block in blocks[page] if block.needs is None]
    faults = [fault(block, tmp_path, user_environment) for block in runnable]
    assert [fault for fault in faults if fault] == []


def test_the_readme_shows_what_its_commands_print(blocks):
    shown = [block for block in blocks[ROOT / "README.md"] if block.output and not block.needs]
    assert {block.language for block in shown} == {"python", "bash"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_targets_and_extras_exist(page):
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for wanted in re.findall(r"moonlynx\[([\w,-]+)\]", text):
        assert set(wanted.split(",")) <= set(project["optional-dependencies"])


def test_commands_that_cannot_run_here_still_parse(blocks, tmp_path, user_environment):
    pending = [(page, one) for page, found in blocks.items() for one in found if one.needs]
    parsed = 0
    for page, block in pending:
        where = f"{page}:{block.line}"
        assert block.needs in NEEDS, where
        assert block.language == "bash", where
        for command in bash(PRINTED + block.body, tmp_path, user_environment).stdout.splitlines():
            words = shlex.split(command)
            # With --help behind them, options are parsed and nothing runs.
            done = CliRunner().invoke(app, [*words, "--help"])
            assert done.exit_code == 0, f"{where}: {done.output}"
            for option, value in pairwise(words):
                if option == "--judge":
                    parse_spec(value)
            parsed += 1
    assert parsed == sum(block.body.count("moonlynx ") for _, block in pending)


@pytest.mark.parametrize(("body", "output", "said"), cases(__file__, "runner"))
def test_the_runner_notices(body, output, said, tmp_path, user_environment):
    printed = "" if output is None else "\n```{}\n{}\n```\n".format(*output)
    (block,) = read_blocks(f"```bash\n{body}\n```\n{printed}")
    found = fault(block, tmp_path, user_environment)
    assert found is None if said is None else said in found
