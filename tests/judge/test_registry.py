import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cases import cases
from tests.command import moonlynx

from moonlynx.judge import examples
from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.judges.detectors.token_similarity import TokenSimilarity
from moonlynx.judge.registry import Factory, all_factories, find_factory, load_judge

PLUGIN = Path(__file__).parents[1] / "plugin"


@pytest.mark.parametrize("case", cases(__file__, "bad_judges"), ids=lambda case: case["judge"])
def test_a_name_that_cannot_work_says_why(case):
    with pytest.raises(MoonlynxError) as caught:
        load_judge(case["judge"])
    assert type(caught.value).__name__ == case["error"]
    assert case["says"] in str(caught.value)


def test_a_missing_package_is_named_and_every_judge_has_a_summary():
    factory = Factory("", lambda spec, threshold: load_judge("lynx"), packages=("no_such_module",))
    assert factory.missing() == ("no_such_module",)
    assert find_factory("token-similarity").missing() == ()
    summaries = {name: factory.summary for name, factory in all_factories()}
    assert len(set(summaries.values())) == len(summaries) >= 5
    assert all(summaries.values())


@pytest.mark.heavy
def test_an_installed_package_of_others_brings_a_judge(tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation"]
    source = tmp_path / "plugin"
    source.mkdir()
    for path in PLUGIN.rglob("*"):
        if path.is_file() and path.suffix in (".py", ".toml"):
            copy = source / path.relative_to(PLUGIN)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(path.read_bytes())
    target = tmp_path / "site"
    subprocess.run(
        [*install, "--no-deps", "--target", str(target), str(source)],
        check=True,
        capture_output=True,
    )
    run = [sys.executable, "-m", "moonlynx"]
    environment = os.environ | {"PYTHONPATH": str(target)}
    listed = subprocess.run(
        [*run, "judges"], env=environment, capture_output=True, text=True, check=True
    )
    assert "parrot" in listed.stdout
    command = [*run, "judge", "--judge", "parrot", "--format", "json", "--context", "A b c."]
    for answer, score in (("b c", "PASS"), ("c b", "FAIL")):
        judged = subprocess.run(
            [*command, "--answer", answer], env=environment, capture_output=True, text=True
        )
        assert json.loads(judged.stdout)["score"] == score


ROWS = Path(examples.__file__).with_name("answers.jsonl")


def test_a_row_goes_from_cli_through_batch_to_the_judge_and_its_verdict(tmp_path, monkeypatch):
    judge, ways = TokenSimilarity.__call__, []

    def look(self, batch):
        files = [Path(frame.filename) for frame in reversed(inspect.stack())]
        rooms = [file.parent.name for file in files if file.parent.parent.name == "judge"]
        ways.append(list(dict.fromkeys(rooms)))
        return judge(self, batch)

    monkeypatch.setattr(TokenSimilarity, "__call__", look)
    output = tmp_path / "verdicts.jsonl"
    asked = ["judge", "--judge", "token-similarity", "--input", str(ROWS), "--output", str(output)]
    assert moonlynx(*asked).exit_code == 0
    # Around it the terminal, which shows errors; the contract runs a judge's steps.
    assert ways == [["terminal", "cli", "batch", "contract"]]
    assert output.read_bytes().count(b"\n") == ROWS.read_bytes().count(b"\n")
