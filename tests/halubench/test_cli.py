import json

import pytest

from moonlynx.halubench.manifest import read_manifest
from moonlynx.halubench.records import read_rows

from ..command import moonlynx
from .made_data import write


def call(*arguments, code=0):
    done = moonlynx("halubench", *arguments)
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


@pytest.mark.heavy
def test_from_the_data_to_a_checked_benchmark_and_training_set(data, tmp_path):
    test, train = tmp_path / "test", tmp_path / "train"
    said = call("build", "--data", data, "--rows", 149, "--output", test)
    assert "DROP, test: built 10 of 10 (5 FAIL)\n" in said
    assert "test.jsonl, test.parquet, README.md, manifest.json" in said
    assert "in order" in call("verify", test / "test.jsonl")
    assert "| DROP | 10 |" in call("stats", test / "test.jsonl")
    options = ["--split", "train", "--rows", 32, "--against", test / "test.jsonl", "--seed", 2]
    options += ["--contexts", "excerpt", "--more-ragtruth", 4]
    said = call("build", "--data", data, "--output", train, *options)
    assert "RAGTruth, train: built 10 of 10" in said
    assert "RAGTruth, validation: built 2 of 2" in said
    for part in ("train", "validation"):
        assert "in order" in call("verify", train / f"{part}.jsonl")
    official = {"passage": "", "question": "", "answer": "", "label": "PASS", "source_ds": "DROP"}
    write(tmp_path, "official.jsonl", json.dumps({"id": "1", **official}))
    assert "| all | 149 | 0 |" in call("compare", test / "test.jsonl", tmp_path / "official.jsonl")


def test_more_rows_of_ragtruth_are_for_training_alone(data, tmp_path):
    said = call("build", "--data", data, "--output", tmp_path, "--more-ragtruth", 4, code=2)
    assert "needs --split train" in said


def test_a_chat_model_makes_answers_wrong_and_is_asked_once(data, tmp_path):
    reply = {"new_answer": "It cost 7 million euros.", "change_made": "the cost"}
    write(tmp_path, "script.jsonl", json.dumps({"text": json.dumps(reply)}))
    output = tmp_path / "out"
    command = ["build", "--data", data, "--rows", 149, "--output", output]
    command += ["--model", f"@fake?script={tmp_path / 'script.jsonl'}"]
    said = call(*command)
    assert "FinanceBench: 10 answers to perturb, likely 10 calls" in said
    made = [row for row in read_rows(output / "test.jsonl") if row.gold is not None]
    assert made
    assert {row.change for row in made} == {"the cost"}
    manifest = read_manifest(output)
    assert manifest.plan.perturber.startswith("chat@fake")
    assert sum(sum(counts.values()) for counts in manifest.rejections.values()) > 0
    whole = (output / "test.jsonl").read_bytes()
    asked = (output / "asked.jsonl").read_bytes()
    (output / "manifest.json").unlink()
    call(*command)
    assert (output / "test.jsonl").read_bytes() == whole
    assert (output / "asked.jsonl").read_bytes() == asked
