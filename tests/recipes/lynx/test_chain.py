"""The whole chain, from data to a judge, its report and its card, through the real libraries."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.types import Example
from moonlynx.recipes import lynx
from moonlynx.recipes.chat.record import read_record
from moonlynx.recipes.lynx.parsability import measure

from ...halubench.made_data import write_drop
from .test_lynx import TINY

FOLDER = Path(lynx.__file__).parent
SCRIPT = FOLDER.parent / "run_all.sh"


def run_all(folder, *arguments, **variables):
    return subprocess.run(
        [SCRIPT, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHON": sys.executable, "HF_HUB_OFFLINE": "1"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.heavy
def test_the_chain_with_a_tiny_model(tiny_llama, tmp_path):
    write_drop(tmp_path / "data")
    recipe = TINY | {"base": str(tiny_llama), "max_length": 4000, "epochs": 8}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(recipe))
    variables = {
        "RECIPE": "tiny.yaml",
        "GPUS": "0",
        "OUT": "out",
        "MOONLYNX_DATA": "data",
        "TEST_ROWS": "60",
        "TRAIN_ROWS": "43",
        "CONTEXTS": "excerpt",
        "ENGINE": "transformers?batch=10",
    }
    done = run_all(tmp_path, **variables)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    out = tmp_path / "out"
    trained = read_record(out / "tuned")
    assert (trained.rows, trained.base) == (8, str(tiny_llama))
    assert trained.losses[-1] < 0.8 * trained.losses[0]
    for name in ("before", "after"):
        assert json.loads((out / f"free-{name}.json").read_text())["rows"] == 4
    (judge,) = json.loads((out / "eval/report.json").read_text())["judges"]
    assert judge["spec"] == "lynx:out/tuned/model@transformers?batch=10"
    assert "4 rows: 2 PASS, 2 FAIL" in (out / "eval/report.md").read_text()
    card = (out / "tuned/model/README.md").read_text()
    assert card.startswith(f"---\nbase_model: {tiny_llama}\n")
    assert re.search(r"\| DROP +\| +4 \| +4 \|", card)

    again = run_all(tmp_path, **variables)
    assert again.returncode == 0, again.stderr[-3000:]
    steps = [line for line in again.stdout.splitlines() if line.startswith("== ")]
    assert len(steps) == 7 + 1
    assert all(line.endswith(": done before") for line in steps[:-1])


def test_the_same_steps_are_taken_with_the_real_model(tmp_path):
    """It needs GPUs and the Hub: here the commands are written down instead of run."""
    python = tmp_path / "python"
    log = tmp_path / "commands"
    python.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && exec {sys.executable} "$@"\necho "$@" >> {log}\n'
    )
    python.chmod(0o755)
    done = run_all(tmp_path, PYTHON=str(python), MOONLYNX_DATA="", OUT="out")
    assert done.returncode == 0, done.stderr
    build, train, *rest = log.read_text().splitlines()
    whole = "-m moonlynx halubench build --contexts whole"
    assert build == f"{whole} --rows 14900 --output out/test"
    assert train == (
        f"{whole} --split train --rows 3200 --against out/test/test.jsonl --output out/train"
    )
    base, tuned = "meta-llama/Meta-Llama-3-8B-Instruct", "out/tuned/model"
    free = "-m moonlynx.recipes.lynx.parsability"
    assert rest == [
        "-m moonlynx halubench trace out/train/train.jsonl --output out/traced/train.jsonl",
        "-m moonlynx halubench trace out/train/validation.jsonl "
        "--output out/traced/validation.jsonl",
        f"{free} {base}@vllm out/test/test.jsonl --limit 500 --output out/free-before.json",
        f"-m accelerate.commands.launch --config_file {FOLDER}/accelerate/8-gpus.yaml "
        "-m moonlynx train lynx lynx-8b --rows out/traced/train.jsonl "
        f"--validation out/traced/validation.jsonl --base {base} --out out/tuned",
        f"{free} {tuned}@vllm out/test/test.jsonl --limit 500 --output out/free-after.json",
        f"-m moonlynx eval --benchmark out/test/test.jsonl --judge lynx:{tuned}@vllm "
        "--output out/eval",
        f"-m moonlynx card --weights {tuned} --run out/tuned/run.json --report out/eval "
        f"--output {tuned}/README.md",
    ]


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (["--small"], {}, "usage: "),
        ([], {"RECIPE": "lynx-9b"}, "RECIPE=lynx-9b"),
        ([], {"PYTHON": "no-such-python"}, "no-such-python: command not found"),
    ],
)
def test_what_the_chain_cannot_start_with_is_said(tmp_path, arguments, variables, message):
    done = run_all(tmp_path, *arguments, **variables)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


VALID = '{"REASONING": ["It says so."], "SCORE": "PASS"}'


def test_replies_are_counted_by_what_can_be_read():
    replies = [
        VALID,
        VALID.replace("PASS", "FAIL"),
        f"Sure! {VALID}",  # the judge reads it, but it is no JSON
        '{"REASONING": "It says so.", "SCORE": "PASS"}',  # nor is this the form asked for
        "It is faithful.",
        ChatReply(text='{"REASONING": ["It', finish="length"),
    ]
    asked = []

    def reply(request):
        asked.append(request)
        return replies[len(asked) - 1]

    examples = [Example(context="It is red.", answer="Red.", label="PASS")] * len(replies)
    found = measure(FakeBackend(reply), examples)
    assert (found.rows, found.valid, found.readable, found.right) == (6, 2, 4, 3)
    assert found.faults == {"truncated": 1, "unparsed": 1}
    assert all(request.schema is None and request.temperature == 0 for request in asked)
