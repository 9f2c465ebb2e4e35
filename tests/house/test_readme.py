"""Every block of the README and of the pages in docs/ does what it says.

`python` and `bash` blocks of a page run one after the other in one folder, empty at first, with the
console commands on the path and the Hub switched off. A `text` or `json` block that follows at once
is what the block prints: JSON must be equal; in text, white space at the ends of lines does not
count. `moonlynx serve` answers at its own port meanwhile.

`make` and `source` lines are not run: their targets and extras must exist. Blocks under
`<!-- needs: server -->` (or `gpu`, `hub`, `files`) are not run either: their `moonlynx` lines must
parse, the names of judges in them too.
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

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NEEDS = {"server", "gpu", "hub", "files"}
RUN = {"moonlynx", "python", "cat", "curl"}
NOT_RUN = {"make", "source"}
START_LIMIT = 10  # tries to connect, each after twice the pause of the one before: four minutes

_BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>\w+) -->\s*\n)?^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_HEREDOC = re.compile(r"<<\s*'?(\w+)'?")


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


def commands(body):
    """Yield the commands of a bash block, each with its continuation lines and here-document."""
    lines = iter(body.splitlines())
    for line in lines:
        command = line
        while command.endswith("\\"):
            command += "\n" + next(lines)
        if heredoc := _HEREDOC.search(command):
            for inner in lines:
                command += "\n" + inner
                if inner == heredoc[1]:
                    break
        if command.strip() and not command.lstrip().startswith("#"):
            yield command


def words(command):
    """Return a command's words, without its here-document and comments."""
    first = command if "\\\n" in command else command.splitlines()[0]
    return shlex.split(first.replace("\\\n", " "), comments=True)


def judged(command):
    """Yield the `moonlynx` parts of a command, split at pipes and redirections."""
    part = []
    for word in [*words(command), "|"]:
        if word in ("|", ">", "&&", ";"):
            if part[:1] == ["moonlynx"]:
                yield part
            part = []
        else:
            part.append(word)


def read_json(text, near=float):
    return json.loads(text, parse_float=lambda number: near(float(number)))


def nearly(number):
    """Return what equals any number that int8 sums may round to on another processor."""
    return pytest.approx(number, abs=0.005)


def lines(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def run_block(block, folder, environment):
    """Run a block; return what is wrong with what it did, or None."""
    if block.language == "python":
        command = [sys.executable, "-c", block.body]
    else:
        script = [one for one in commands(block.body) if words(one)[0] in RUN]
        command = ["bash", "-euo", "pipefail", "-c", "\n".join(script)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return f"line {block.line} ended with {done.returncode}: {done.stderr[-2000:]}"
    if block.output is None:
        return None
    language, expected = block.output
    same = (
        read_json(expected, nearly) == read_json(done.stdout)
        if language == "json"
        else lines(expected) == lines(done.stdout)
    )
    return None if same else f"line {block.line} printed:\n{done.stdout}\nand not:\n{expected}"


@pytest.fixture(scope="module")
def blocks():
    """Return the blocks of each page."""
    return {path: list(read_blocks(path.read_text(encoding="utf-8"))) for path in PAGES}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def server(user_environment):
    command = ["moonlynx", "serve"]
    with (
        subprocess.Popen(command, env=user_environment, stderr=subprocess.DEVNULL) as run,
        httpx.Client(transport=httpx.HTTPTransport(retries=START_LIMIT)) as client,
    ):
        try:
            client.get("http://127.0.0.1:8000/readyz", timeout=60).raise_for_status()
            yield
        finally:
            run.terminate()


@pytest.mark.heavy
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_does_what_it_says(page, blocks, tmp_path, user_environment):
    runnable = [block for block in blocks[page] if block.needs is None]
    faults = [run_block(block, tmp_path, user_environment) for block in runnable]
    assert [fault for fault in faults if fault] == []


def test_the_readme_runs_its_commands_and_shows_what_they_print(blocks):
    shown = [block for block in blocks[ROOT / "README.md"] if block.output and not block.needs]
    assert {block.language for block in shown} == {"python", "bash"}


def test_every_line_is_run_or_checked(blocks):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))
    for page, found in blocks.items():
        for block in found:
            if block.language != "bash" or block.needs:
                continue
            for command in commands(block.body):
                head, *rest = words(command)
                assert head in RUN | NOT_RUN, f"{page}:{block.line}: cannot check {command!r}"
                assert head != "make" or (rest and set(rest) <= targets)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_extras_named_in_the_text_exist(page, project):
    for wanted in re.findall(r"moonlynx\[([\w,-]+)\]", page.read_text(encoding="utf-8")):
        assert set(wanted.split(",")) <= set(project["optional-dependencies"])


def test_blocks_that_cannot_run_here_still_parse(blocks):
    pending = [(page, one) for page, found in blocks.items() for one in found if one.needs]
    for page, block in pending:
        where = f"{page}:{block.line}"
        assert block.needs in NEEDS, where
        assert block.language == "bash", where
        for part in [part for command in commands(block.body) for part in judged(command)]:
            # With --help behind them, options are parsed and nothing runs.
            done = CliRunner().invoke(app, [*part[1:], "--help"])
            assert done.exit_code == 0, f"{where}: {done.output}"
            for option, value in pairwise(part):
                if option == "--judge":
                    parse_spec(value)


EXAMPLE = """
```bash
cat > a.txt <<'END'
one
END
moonlynx judge --context a.txt \\
  --answer "x" | cat   # a comment
```

```json
{"a": 1}
```

<!-- needs: server -->
```bash
moonlynx judge --judge lynx@http://h/v1 > out.jsonl
```
"""


def test_the_reader_reads():
    first, second = read_blocks(EXAMPLE)
    assert (first.language, first.needs, first.output) == ("bash", None, ("json", '{"a": 1}\n'))
    setup, judge = commands(first.body)
    assert setup == "cat > a.txt <<'END'\none\nEND"
    assert list(judged(judge)) == [["moonlynx", "judge", "--context", "a.txt", "--answer", "x"]]
    assert (second.needs, second.output) == ("server", None)
    assert list(judged(second.body)) == [["moonlynx", "judge", "--judge", "lynx@http://h/v1"]]


@pytest.mark.parametrize(
    ("body", "output", "fault"),
    [
        ("cat <<< a", ("text", "a  \n"), None),
        ("cat <<< a", ("text", "b"), "printed"),
        ("cat <<< '{\"a\": 0.501}'", ("json", '{"a":  0.5}'), None),
        ("cat <<< '{\"a\": 0.51}'", ("json", '{"a": 0.5}'), "printed"),
        ("cat no-such-file", None, "ended with 1"),
    ],
)
def test_the_runner_notices(body, output, fault, tmp_path, user_environment):
    said = run_block(Block(1, "bash", body, output=output), tmp_path, user_environment)
    assert said is None if fault is None else fault in said
