import json
import re
import subprocess
import sys

import pytest

from moonlynx import load_judge
from moonlynx.judge.batch.judging import Tally, judge_batch
from moonlynx.judge.contract.types import Example
from moonlynx.judge.rows.examples import Row

from . import pseudo

CLAIMS = 24
ANSWER = " ".join(f"Bridge {number} is green." for number in range(CLAIMS))
EXAMPLE = {"context": "The bridge is green.", "answer": ANSWER}
# All that takes any time takes two seconds here.
PROGRAM = (
    "from moonlynx.judge.terminal import progress; progress._PATIENCE = 0.0\n"
    "from moonlynx.cli import main; main()\n"
)


def on_terminal(*arguments):
    program = ["-c", PROGRAM, "judge", "--judge", "luna:mini", *arguments]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    _, printed, shown = pseudo.on_terminal(program, columns=140, **streams)
    return printed, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


@pytest.mark.heavy
def test_one_long_answer_shows_how_many_claims_are_read():
    printed, shown = on_terminal("--context", EXAMPLE["context"], "--answer", ANSWER)
    assert re.search(rf"\d+ of {CLAIMS} claims", shown)
    assert len(json.loads(printed)["sentences"]) == CLAIMS  # and nothing else


@pytest.mark.heavy
def test_so_does_a_file_and_nothing_where_no_terminal_is(tmp_path):
    (tmp_path / "in.jsonl").write_text(f"{json.dumps(EXAMPLE)}\n" * 2)
    _, shown = on_terminal("--input", tmp_path / "in.jsonl", "--output", tmp_path / "out.jsonl")
    assert re.search(rf"\d+ of {2 * CLAIMS} claims", shown)
    assert "2 rows: " in shown
    command = [sys.executable, "-c", PROGRAM, "judge", "--judge", "luna:mini"]
    command += ["--context", "a", "--answer", ANSWER]
    done = subprocess.run(command, capture_output=True)
    assert json.loads(done.stdout)["sentences"]
    assert done.stderr == b""


@pytest.mark.parametrize("name", ["luna:mini", "luna:mini?rules=on", "raghalu"])
def test_a_judge_tells_of_every_claim_that_it_reads(name):
    seen = []
    example = Example.from_row(EXAMPLE)
    rows = [Row(1, None, example), Row(2, None, example)]
    tally = Tally()
    judge_batch(load_judge(name), rows, tally, lambda one: seen.append(one.under_way))
    assert [step.claims for step in seen] == list(range(2 * CLAIMS))
    assert {step.known for step in seen} == {2 * CLAIMS}
    assert [step.rows for step in seen] == sorted(step.rows for step in seen)
    assert tally.under_way is None
