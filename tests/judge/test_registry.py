import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.spec import SpecError
from moonlynx.judge.contract.types import Example
from moonlynx.judge.registry import Factory, UnknownJudge, all_factories, find_factory, load_judge

PLUGIN = Path(__file__).parents[1] / "plugin"
EXAMPLE = Example(context="The bridge is long.", answer="The bridge is green.")


def test_the_default_judge_needs_nothing():
    judge = load_judge("token-similarity")
    assert isinstance(judge, Judge)
    assert judge([EXAMPLE])[0].judge.name == "token-similarity"


def test_threshold_decides():
    strict, lax = (
        load_judge("token-similarity?threshold=0.1"),
        load_judge("token-similarity?threshold=0.9"),
    )
    assert strict([EXAMPLE])[0].score == "FAIL"
    assert lax([EXAMPLE])[0].score == "PASS"


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("token-similarty", UnknownJudge, "did you mean token-similarity"),
        ("zzz", UnknownJudge, "known: luna, luna2, token-similarity, "),
        ("cascade(token-similarity,token-similarity)", SpecError, "fit it with `moonlynx cascade`"),
        ("token-similarity?metric=meteor", SpecError, "must be one of overlap, bleu, rouge"),
        ("token-similarity?metrc=bleu", SpecError, "no option 'metrc'; it has metric"),
        ("token-similarity:x", SpecError, "takes no model and no backend"),
        ("token-similarity?threshold=high", SpecError, "option threshold=high: must be a number"),
        ("token-similarity?threshold=nan", SpecError, "option threshold=nan: must be a number"),
        ("token-similarity?threshold=7", SpecError, "option threshold=7: must be from 0 to 1"),
        ("luna?threshold=-0.1", SpecError, "option threshold=-0.1: must be from 0 to 1"),
        ("token-similarity?threshold=0.1&calibration=x.json", SpecError, "not both"),
        ("semantic-similarity", SpecError, "needs a model"),
        ("bert-stochastic", SpecError, "needs the option embeddings"),
        ("lynx:/nowhere/weights@transformers", BackendError, "/nowhere/weights"),
        ("raghalu-prompt@fake?labels=4", SpecError, "option labels=4: must be one of 2, 3"),
        ("raghalu-prompt@fake?sentences=two", SpecError, "must be one of one, many"),
        ("chainpoll@fake?polls=0", SpecError, "a whole number of at least 1"),
        ("plain-prompt@fake?form=xml", SpecError, "must be one of boolean, token"),
        ("ragas@fake?rounds=2", SpecError, "ragas has no option 'rounds'; it has script, calib"),
        ("trulens", SpecError, "needs a model"),
        ("nli:/nowhere/weights", BackendError, "/nowhere/weights"),
    ],
)
def test_a_name_that_cannot_work_says_why(name, error, says):
    with pytest.raises(error) as caught:
        load_judge(name)
    assert says in str(caught.value)


_ANY = "calibration, threshold, abstain, confidence, languages, rules"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("luna?colour=red", f"windows, {_ANY}"),
        ("luna?colour=red&rules=on&threshold=0.5", f"windows, {_ANY}"),
        ("token-similarity?colour=red", f"metric, {_ANY}"),
        ("raghalu?colour=red", f"luna, windows, {_ANY}"),
        ("chainpoll@fake?colour=red&polls=2", f"script, polls, {_ANY}"),
        (
            "chainpoll@http://127.0.0.1:9/v1?colour=red",
            f"concurrency, timeout, retries, polls, {_ANY}",
        ),
        ("lynx@fake?colour=red", f"script, {_ANY}"),
        ("selfcheck@fake?colour=red", f"script, samples, nli, {_ANY}"),
        ("selfcheck?nli=/nowhere&colour=red", f"samples, nli, {_ANY}"),
        ("bert-stochastic?embeddings=/nowhere&colour=red", f"samples, embeddings, {_ANY}"),
        ("cascade(luna,lynx@fake)?colour=red", "policy, on-failure, languages, rules"),
        ("cascade(luna?colour=red,lynx@fake)", f"windows, {_ANY}"),
    ],
)
def test_an_unknown_option_lists_all_that_there_are(name, known):
    with pytest.raises(SpecError) as caught:
        load_judge(name)
    assert str(caught.value).endswith(f"has no option 'colour'; it has {known}")


def test_a_missing_package_is_named():
    factory = Factory("", lambda spec, threshold: load_judge("lynx"), packages=("no_such_module",))
    assert factory.missing() == ("no_such_module",)
    assert find_factory("token-similarity").missing() == ()


def test_every_built_in_judge_has_a_summary():
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
