"""The whole chain, from data to a judge and its report, through the real libraries.

The cut learns a few rows and leaves the controls out. Without MOONLYNX_DATA the chain makes its own
passages.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from moonlynx.halubench.rows import read_rows, write_rows
from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.types import Example
from moonlynx.recipes import lynx
from moonlynx.recipes.lynx.chain.report import ChainError, build_report
from moonlynx.recipes.lynx.chain.rows import TooFewRows, choose_shortest, exchange_targets
from moonlynx.recipes.lynx.parsability import measure

from .test_lynx import row

FOLDER = Path(lynx.__file__).parent
SCRIPT = FOLDER.parent / "run_all.sh"
ROWS = [row(number, label="FAIL" if number % 2 else "PASS", words=number) for number in range(16)]


def run_all(folder, *arguments, **variables):
    return subprocess.run(
        [SCRIPT, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHON": sys.executable, "HF_HUB_OFFLINE": "1"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def read_report(folder):
    return json.loads((folder / "report.json").read_text())


@pytest.mark.heavy
def test_a_cut_of_the_chain(tmp_path):
    """Eight rows, made of passages of its own: the loss falls, and replies become valid JSON."""
    recipe = yaml.safe_load((FOLDER / "lynx-tiny.yaml").read_text())
    shorter = {"batch": 1, "rows_at_once": 1, "epochs": 28}
    (tmp_path / "cut.yaml").write_text(yaml.safe_dump(recipe | shorter))
    cut = {"RECIPE": "cut.yaml", "ROWS": "8", "CONTROLS": "no", "OUT": "cut", "MOONLYNX_DATA": ""}
    done = run_all(tmp_path, "--tiny", **cut)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    report = read_report(tmp_path / "cut")
    assert [check["met"] for check in report["checks"]] == [True, True, True]
    assert report["built"]["DROP"] == 300
    assert report["training"]["tuned"]["rows"] == 8
    assert report["training"]["tuned"]["last"] < 0.5 * report["training"]["tuned"]["first"]
    assert report["before"]["rows"] == report["after"]["rows"] == 8
    assert report["after"]["valid"] > report["before"]["valid"]
    assert {name: each["rows"] for name, each in report["judged"].items()} == {
        "tuned, learned": 8,
        "tuned, unseen": 2,
    }
    assert "| tuned: the loss falls |" in (tmp_path / "cut/report.md").read_text()
    assert "| learned" in (tmp_path / "cut/eval/report.md").read_text()
    card = (tmp_path / "cut/tuned/model/README.md").read_text()
    assert card.startswith("---\nbase_model: cut/base\n")
    assert re.search(r"\| DROP +\| +4 \| +4 \|", card)

    again = run_all(tmp_path, "--tiny", **cut)
    assert again.returncode == 0, again.stderr[-3000:]
    steps = [line for line in again.stdout.splitlines() if line.startswith("== ")]
    assert len(steps) == 10 + 1
    assert all(line.endswith(": done before") for line in steps[:-1])


@pytest.mark.slow
def test_the_chain(tmp_path):
    done = run_all(tmp_path, "--tiny")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    report = read_report(tmp_path / "runs/lynx-tiny")
    assert len(report["checks"]) == 7
    assert all(check["met"] for check in report["checks"])
    assert set(report["training"]) == {"tuned", "shuffled", "qlora"}
    assert report["judged"]["tuned, learned"]["rows"] == 64


def test_without_tiny_the_same_steps_are_taken_with_the_real_model(tmp_path):
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
        "-m moonlynx.recipes.lynx.chain report out",
    ]


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (["--small"], {}, "usage: "),
        (["--tiny"], {"PYTHON": "no-such-python"}, "no-such-python: command not found"),
    ],
)
def test_what_the_chain_cannot_start_with_is_said(tmp_path, arguments, variables, message):
    done = run_all(tmp_path, *arguments, **variables)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_shortest_rows_are_chosen_half_of_each_label():
    chosen = choose_shortest(list(reversed(ROWS)), 6, "rows.jsonl")
    assert [each.id for each in chosen] == [f"made/{number}" for number in range(6)]
    with pytest.raises(TooFewRows, match=r"rows.jsonl: 18 rows .* half of them PASS, and 8 are"):
        choose_shortest(ROWS, 18, "rows.jsonl")
    with pytest.raises(ChainError, match="holds no whole build; run the chain again"):
        build_report(Path("nowhere"))


def test_shuffled_labels_are_right_by_chance_and_the_targets_stay():
    shuffled = exchange_targets(ROWS, seed=3)
    assert shuffled == exchange_targets(ROWS, seed=3)
    kept = [one.label for one, other in zip(ROWS, shuffled, strict=True) if one == other]
    assert Counter(kept) == {"PASS": 4, "FAIL": 4}
    assert all(
        one.label != other.label and one.answer == other.answer
        for one, other in zip(ROWS, shuffled, strict=True)
        if one != other
    )
    targets = [Counter((each.label, each.reasoning) for each in rows) for rows in (ROWS, shuffled)]
    assert targets[0] == targets[1]


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


def test_passages_are_asked_about_what_they_say(tmp_path):
    from moonlynx.recipes.lynx.chain.passages import write_passages

    write_passages(tmp_path, 20, seed=1)
    train = json.loads((tmp_path / "drop/drop_dataset_train.json").read_text())
    dev = json.loads((tmp_path / "drop/drop_dataset_dev.json").read_text())
    assert len(train) == len(dev) == 20
    pairs = [(each["passage"], pair) for each in train.values() for pair in each["qa_pairs"]]
    assert len(pairs) == 40
    assert all(pair["answer"]["spans"][0] in passage for passage, pair in pairs)
    assert not {each["passage"] for each in train.values()} & {e["passage"] for e in dev.values()}


@pytest.mark.heavy
def test_the_base_is_the_same_each_time_and_reads_its_rows(tmp_path):
    from safetensors.torch import load_file
    from transformers import AutoTokenizer

    from moonlynx.recipes.lynx.chain.tiny_base import build_base

    write_rows(tmp_path / "rows.jsonl", ROWS)
    rows = read_rows(tmp_path / "rows.jsonl")
    sizes = {build_base(rows, tmp_path / name, seed=0) for name in ("one", "other")}
    assert len(sizes) == 1
    assert 2_000_000 < sizes.pop() < 3_000_000
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "other"))
    assert all((one[name] == other[name]).all() for name in one | other)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "one")
    assert tokenizer.decode(tokenizer("It opened in 1903 – “red”.")["input_ids"]) == (
        "It opened in 1903 – “red”."
    )
