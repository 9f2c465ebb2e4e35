"""Every block of the README does what it says.

`python` and `bash` blocks run one after the other in one folder, empty at first, with the console
commands on the path and the Hub switched off. What follows a block at once in a `text` or `json`
block is what it prints: JSON must be equal; in text, white space at the ends of lines does not
count, and a line `...` stands for any number of lines. A block ends with 0, or with what
`<!-- exit: N -->` right above it says. All run while `moonlynx serve` answers at its own port.

`make`, `git`, `cd` and `pip` lines are not run: their targets and extras must exist. Blocks under
`<!-- needs: server -->` (or `gpu`, or `hub`) are not run either: their `moonlynx` lines must parse,
the names of judges in them too.
"""

import json
import re
import shlex
import subprocess
import sys
import time
import tomllib
from itertools import pairwise
from typing import NamedTuple

import httpx
import pytest

from moonlynx.judge.contract.spec import parse_spec

NEEDS = {"server", "gpu", "hub"}
RUN = {"moonlynx", "python", "cat", "echo", "printf", "curl"}
SERVER = "http://127.0.0.1:8000"
NOT_RUN = {"make", "git", "cd", "pip"}

_BLOCK = re.compile(
    r"(?:<!-- (?P<key>needs|exit): (?P<value>\w+) -->\s*\n)?"
    r"^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_HEREDOC = re.compile(r"<<\s*'?(\w+)'?")


class Block(NamedTuple):
    """A fenced block; `output` is what it should print, as language and text."""

    line: int
    language: str
    body: str
    needs: str | None
    exit: int
    output: tuple[str, str] | None


def read_blocks(text):
    found = list(_BLOCK.finditer(text))
    blocks = []
    for match, following in zip(found, [*found[1:], None], strict=True):
        language, body = match.group("language", "body")
        output = None
        if (
            following
            and following["language"] in ("text", "json")
            and language in ("python", "bash")
            and not text[match.end() : following.start()].strip()
        ):
            output = (following["language"], following["body"])
        blocks.append(
            Block(
                line=text.count("\n", 0, match.start("body")),
                language=language,
                body=body,
                needs=match["value"] if match["key"] == "needs" else None,
                exit=int(match["value"]) if match["key"] == "exit" else 0,
                output=output,
            )
        )
    return blocks


def commands(body):
    """Give the commands of a bash block, each with its continuation lines and here-document."""
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
    """Give a command's words: without its here-document, comments and what it is piped into."""
    first = command if "\\\n" in command else command.splitlines()[0]
    return shlex.split(first.replace("\\\n", " "), comments=True)


def judged(command):
    """Give the `moonlynx` parts of a command, split at pipes and redirections."""
    part = []
    for word in [*words(command), "|"]:
        if word in ("|", ">", "&&", ";"):
            if part[:1] == ["moonlynx"]:
                yield part
            part = []
        else:
            part.append(word)


def normal(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def matches(expected, actual):
    """Compare lines, where `...` stands for any number of them."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in normal(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in normal(actual))) is not None


def alike(expected, actual):
    """Compare JSON; a fraction may differ by what int8 sums round to on another processor."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        named = expected.keys() == actual.keys()
        return named and all(alike(expected[name], actual[name]) for name in expected)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(alike, expected, actual))
    if isinstance(expected, float) and isinstance(actual, float):
        return actual == pytest.approx(expected, abs=0.005)
    return expected == actual


@pytest.fixture(scope="module")
def readme(root):
    return (root / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def blocks(readme):
    return read_blocks(readme)


def run_block(block, folder, environment):
    """Run a block; say what is wrong with what it did, or None."""
    if block.language == "python":
        command = [sys.executable, "-c", block.body]
    else:
        script = [one for one in commands(block.body) if words(one)[0] in RUN]
        if not script:
            return None
        command = ["bash", "-euo", "pipefail", "-c", "\n".join(script)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != block.exit:
        return f"line {block.line} ended with {done.returncode}: {done.stderr[-2000:]}"
    if block.output is None:
        return None
    language, expected = block.output
    same = (
        alike(json.loads(expected), json.loads(done.stdout))
        if language == "json"
        else matches(expected, done.stdout)
    )
    return None if same else f"line {block.line} printed:\n{done.stdout}\nand not:\n{expected}"


@pytest.fixture
def server(user_environment):
    command = ["moonlynx", "serve"]
    with subprocess.Popen(command, env=user_environment, stderr=subprocess.PIPE, text=True) as run:
        until = time.monotonic() + 60
        while True:
            assert run.poll() is None, run.stderr.read()
            assert time.monotonic() < until, "the server did not get ready"
            try:
                if httpx.get(f"{SERVER}/readyz").is_success:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield
        run.terminate()


@pytest.mark.heavy
@pytest.mark.usefixtures("server")
def test_every_block_does_what_it_says(blocks, tmp_path, user_environment):
    runnable = [
        block for block in blocks if block.language in ("python", "bash") and block.needs is None
    ]
    assert {block.language for block in runnable} == {"python", "bash"}
    assert any(block.output for block in runnable)
    faults = [run_block(block, tmp_path, user_environment) for block in runnable]
    assert [fault for fault in faults if fault] == []


def test_every_line_is_run_or_checked(blocks, root):
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    for block in blocks:
        if block.language != "bash" or block.needs:
            continue
        for command in commands(block.body):
            head, *rest = words(command)
            assert head in RUN | NOT_RUN, f"line {block.line}: cannot check {command!r}"
            if head == "make":
                assert rest
                assert set(rest) <= targets
            for wanted in re.findall(r"moonlynx\[([\w,]+)\]", command):
                assert set(wanted.split(",")) <= extras


def test_extras_named_in_the_text_exist(readme, root):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for wanted in re.findall(r"moonlynx\[([\w,]+)\]", readme):
        assert set(wanted.split(",")) <= set(project["optional-dependencies"])


@pytest.mark.heavy
def test_blocks_that_cannot_run_here_still_parse(blocks, tmp_path, user_environment):
    for block in blocks:
        if block.needs is None:
            continue
        assert block.needs in NEEDS, f"line {block.line}: unknown need {block.needs!r}"
        assert block.language in ("bash", "python"), f"line {block.line}"
        if block.language == "python":
            compile(block.body, "README.md", "exec")
            continue
        parts = [part for command in commands(block.body) for part in judged(command)]
        for part in parts:
            # With --help behind them, options are parsed and nothing runs.
            done = subprocess.run(
                [*part, "--help"],
                cwd=tmp_path,
                env=user_environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"line {block.line}: {done.stderr}"
            for option, value in pairwise(part):
                if option in ("--judge", "--judges"):
                    parse_spec(value)


def test_links_lead_to_files(readme, root):
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", readme)
    assert targets
    assert [target for target in targets if not (root / target).exists()] == []


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
vllm serve m --port 1
moonlynx judge --judge lynx@http://h/v1 > out.jsonl
```

<!-- exit: 4 -->
```python
raise SystemExit(4)
```
"""


def test_the_reader_reads():
    first, output, second, third = read_blocks(EXAMPLE)
    assert (first.language, first.needs, first.exit) == ("bash", None, 0)
    assert first.output == ("json", '{"a": 1}\n')
    assert output.language == "json"
    setup, judge = commands(first.body)
    assert setup == "cat > a.txt <<'END'\none\nEND"
    assert words(judge)[:4] == ["moonlynx", "judge", "--context", "a.txt"]
    assert list(judged(judge)) == [
        ["moonlynx", "judge", "--context", "a.txt", "--answer", "x"],
    ]
    assert (second.needs, second.output) == ("server", None)
    assert [part for command in commands(second.body) for part in judged(command)] == [
        ["moonlynx", "judge", "--judge", "lynx@http://h/v1"],
    ]
    assert (third.language, third.exit) == ("python", 4)


def test_the_runner_notices(tmp_path, user_environment):
    def fault(body, language="bash", exit=0, output=None):  # noqa: A002
        block = Block(1, language, body, None, exit, output)
        return run_block(block, tmp_path, user_environment)

    assert fault("echo a", output=("text", "a  \n")) is None
    assert fault("printf 'a\\nb\\nc\\n'", output=("text", "a\n...\nc")) is None
    assert fault("raise SystemExit(4)", language="python", exit=4) is None
    assert fault("echo '{\"a\": 1}'", output=("json", '{"a":  1}')) is None
    assert "printed" in fault("echo b", output=("text", "a"))
    assert "printed" in fault("printf 'a\\nb\\n'", output=("text", "a"))
    assert "printed" in fault("echo '{\"a\": 2}'", output=("json", '{"a": 1}'))
    assert fault("echo '[0.501]'", output=("json", "[0.5]")) is None
    assert "printed" in fault("echo '[0.51]'", output=("json", "[0.5]"))
    assert "ended with 2" in fault("moonlynx judge --no-such-option")
    assert "ended with 1" in fault("raise ValueError", language="python")
    assert "ended with 0" in fault("echo a", exit=4)
