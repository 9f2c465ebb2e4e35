import json
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from .rows import CONTEXT, JUDGE, RIGHT, WRONG

pytest_plugins = ["pytester"]

PLUGIN = "moonlynx.serve.integrations.pytest_plugin"
SUITE = f"""
def test_right(assert_grounded):
    assert_grounded({RIGHT!r}, {CONTEXT!r}, question="When?")

def test_wrong(assert_grounded):
    assert_grounded({WRONG!r}, {CONTEXT!r})

def test_empty(assert_grounded):
    assert_grounded({RIGHT!r}, "")
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest with the plugin by its module's name, whether or not it is also installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(*options):
        return pytester.runpytest_inprocess("-p", PLUGIN, "--import-mode=importlib", *options)

    return run


def test_a_failure_shows_what_and_where(pytester, run):
    pytester.makepyfile(SUITE)
    result = run(f"--grounded-judge={JUDGE}")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            ">*assert_grounded(*Peter Smith*",
            "E*1 of 2 sentences not supported by the context (token-similarity 1-overlap)",
            "E*sentence 2, characters 30–76:",
            "E * Peter Smith tore down two towers near Glasgow.",
            "E * ^^^^^^^^^*",
            "E*no document shares a word with it",
            "E*BadInput: context: holds no text*",
        ]
    )
    # The lines of a failure are those of the test, not of the plugin.
    result.stdout.no_fnmatch_line("*raise AssertionError*")


def test_what_a_terminal_would_obey_is_shown(pytester, run):
    evil = "\x1b[32mPASSED\x1b[0m\r\u202e\x9b2J\nE   1 passed"
    pytester.makeconftest(f"""
import pytest
from moonlynx import BadInput, Verdict
from moonlynx.judge.contract.types import JudgeInfo

class Evil:
    info = JudgeInfo(name={evil!r}, version="1")
    def __call__(self, examples):
        if examples[0].answer == "error":
            error = {{"code": "backend", "message": {evil!r}}}
            return [Verdict(score=None, error=error, judge=self.info)]
        if examples[0].answer == "bad":
            raise BadInput("bad_input", "answer", {evil!r})
        return [Verdict(score="FAIL", reasoning=[{evil!r}], judge=self.info)]

@pytest.fixture(scope="session")
def grounded_judge():
    return Evil()
""")
    pytester.makepyfile(f"""
def test_wrong(assert_grounded):
    assert_grounded({evil!r}, {evil!r})

def test_error(assert_grounded):
    assert_grounded("error", "c")

def test_bad(assert_grounded):
    assert_grounded("bad", "c")
""")
    result = run("-rA")
    result.assert_outcomes(failed=3)
    written = "\n".join(result.outlines + result.errlines)
    assert not set(written) & set("\x1b\r\u202e\x9b")
    shown = r"\x1b[32mPASSED\x1b[0m\x0dU+202E\x9b2J"
    for before in ("  ", "- ", "(", "backend): ", "answer: "):
        assert before + shown in written


def test_the_judge_is_loaded_once_and_can_be_replaced(pytester, run):
    pytester.makeconftest("""
import pytest
from tests.serve.integrations.rows import Silent

@pytest.fixture(scope="session")
def grounded_judge():
    print("LOADED")
    return Silent()
""")
    pytester.makepyfile(SUITE)
    result = run("-s")
    result.assert_outcomes(failed=3)
    assert result.stdout.str().count("LOADED") == 1
    # What has no score is no pass.
    result.stdout.fnmatch_lines(["E*Unscored: unscored (timeout): took too long"])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lunar", "no judge is called 'lunar'; did you mean luna"),
        ("token-similarity?metrc=2", "no option 'metrc'; it has metric, "),
    ],
)
def test_a_judge_that_cannot_be_loaded_is_one_usage_error(pytester, run, name, says):
    pytester.makepyfile(SUITE)
    result = run(f"--grounded-judge={name}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.outlines + result.errlines if "--grounded-judge=" in line]
    assert len(lines) == 1
    assert f"--grounded-judge={name}: " in lines[0]
    assert says in lines[0]
    assert "Traceback" not in str(result.outlines + result.errlines)


def test_it_comes_with_the_package_and_loads_no_model_library():
    (point,) = entry_points(group="pytest11", name="moonlynx")
    assert point.value == PLUGIN
    code = f"import json, sys, {PLUGIN}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert PLUGIN in loaded
    assert loaded.isdisjoint({"numpy", "onnxruntime", "tokenizers", "syntok", "rich", "httpx"})
