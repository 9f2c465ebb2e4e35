import csv
import json
import shutil
from itertools import product
from pathlib import Path

import pytest
import yaml

from moonlynx.judge.contract.types import Example, MoonlynxError
from moonlynx.judge.decision.calibration import load_calibration
from moonlynx.judge.registry import load_judge
from moonlynx.recipes.data import mixes
from moonlynx.recipes.hardware import find_hardware
from moonlynx.recipes.luna.base import BaseNotFound, find_base, start_network
from moonlynx.recipes.luna.items import ITEMS
from moonlynx.recipes.luna.label_by_model.__main__ import app as label_by_model
from moonlynx.recipes.luna.labelled import read_labelled
from moonlynx.recipes.luna.recipe import TOGETHER
from moonlynx.recipes.luna.record import read_record
from moonlynx.recipes.luna.settings import RECIPES, Run
from moonlynx.recipes.runs import SettingsError

from ...cases import write_lines
from ...command import moonlynx, succeed
from ..data.test_rag_qa import UNREAD
from ..tiny_base import build_base

NAMES = ("Alimentum", "Bibimbap", "Cotto", "Dumpling", "Eagle", "Fitzbillies", "Giraffe", "Kebab")
FOODS = ("Chinese", "English", "French", "Italian", "Japanese", "Indian")
PAIRS = list(product(NAMES, FOODS))
AREAS = ("riverside", "city centre", "harbour")
RUN = yaml.safe_load(Path(__file__).with_name("run.yaml").read_text(encoding="utf-8"))
EXAMPLE = Example.from_row(
    {
        "context": ['{"name": "Cotto", "food": "Italian", "area": "riverside"}'],
        "answer": "Cotto serves French food. It is in the riverside area.",
    }
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    (root / "exclude_from_training.json").write_text("{}")
    for part, label in (("dev", "SUPPORTS"), ("test", "REFUTES")):
        rows = [
            {
                "claim": f"{name} serves {food} food.",
                "evidence": f"{name} serves {food if label == 'SUPPORTS' else 'Thai'} food.",
                "gold_label": label,
            }
            for name, food in product(NAMES, FOODS)
        ]
        write_lines(root / "fever_symmetric" / f"fever_symmetric_{part}.jsonl", *rows)
    (root / "e2e_cleaned").mkdir()
    for part, names in (("devel-fixed.no-ol", NAMES[:4]), ("test-fixed", NAMES[4:])):
        with (root / "e2e_cleaned" / f"{part}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["mr", "ref", "fixed", "orig_mr"])
            for name, food, area in product(names, FOODS, AREAS):
                clean = f"name[{name}], food[{food}], area[{area}]"
                text = f"{name} serves {food} food. It is in the {area} area."
                writer.writerow([clean, text, 0, f"name[{name}], area[{area}]"])
    return root


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    words = [
        word.lower() for word in (*NAMES, *FOODS, "serves", "food", "area", "name", "the", "is")
    ]
    return build_base(tmp_path_factory.mktemp("base"), words)


@pytest.fixture
def one_set(monkeypatch):
    monkeypatch.setattr(mixes, "SETS", {"e2e_cleaned": mixes.SETS["e2e_cleaned"]})


def write(path, **changes):
    path.write_text(yaml.safe_dump(RUN | changes, sort_keys=False), encoding="utf-8")
    return path


@pytest.mark.heavy
@pytest.mark.usefixtures("one_set")
def test_one_command_trains_a_judge(data, base, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = write(tmp_path / "tiny.yaml")
    command = ("train", "luna", recipe, "--data", data, "--base", base)
    out = tmp_path / "runs" / "tiny"
    assert "moonlynx judge --judge luna:runs/tiny/luna-int8" in succeed(*command)

    for name in ("pairs", "answers"):
        progress = json.loads((out / name / "progress.json").read_text())
        assert progress["done"]
        assert progress["items"] > 50
    for folder, backend in ((out / "luna", "@torch"), (out / "luna-int8", "")):
        judge = load_judge(f"luna:{folder}{backend}")
        (verdict,) = judge([EXAMPLE])
        assert verdict.error is None
        assert 0 <= verdict.raw_score <= 1
        assert [EXAMPLE.answer[s.start : s.end] for s in verdict.sentences] == [
            "Cotto serves French food.",
            "It is in the riverside area.",
        ]
    assert verdict.probability is not None  # the int8 form is the one that is calibrated
    calibration = load_calibration(out / "luna-int8" / "calibration.json")
    assert calibration.judge == judge.info
    assert calibration.rows == 2 * calibration.fails >= 20

    record = read_record(out / "luna-int8")
    assert [stage.name for stage in record.stages] == ["pairs", "answers"]
    assert record.hardware == find_hardware()
    assert record.recipe == "tiny"
    assert all(set(each.auroc) == {"e2e_cleaned", TOGETHER} for each in record.aggregations)

    # A stage that is done is not done again, and items from another machine are not made anew.
    files = {path: path.read_bytes() for path in out.rglob("model.*")}
    times = {path: path.stat().st_mtime_ns for path in (out / "pairs").iterdir()}
    items = (out / "answers" / ITEMS).read_bytes()
    shutil.rmtree(out / "answers")
    (out / "answers").mkdir()
    (out / "answers" / ITEMS).write_bytes(items)
    with monkeypatch.context() as patch:
        patch.setattr("moonlynx.recipes.luna.recipe.taught_items", pytest.fail)
        succeed(*command)
    assert times == {path: path.stat().st_mtime_ns for path in (out / "pairs").iterdir()}
    assert files == {path: path.read_bytes() for path in out.rglob("model.*")}
    assert load_calibration(out / "luna-int8" / "calibration.json") == calibration

    other = write(recipe, seed=1)
    refused = moonlynx("train", "luna", other, "--data", data, "--base", base)
    assert isinstance(refused.exception, SettingsError)
    assert "run.json has other settings" in str(refused.exception)


def said(supported):
    verdict = "supported" if supported else "unsupported"
    sentence = {"reasoning": "r", "context": ["1.1"] * supported, "verdict": verdict}
    return json.dumps({"reasoning": "r", "supported": supported, "sentences": {"a1": sentence}})


@pytest.mark.heavy
@pytest.mark.usefixtures("one_set")
def test_questions_become_labelled_answers_and_a_judge_by_the_papers_recipe(
    data, base, tmp_path, monkeypatch
):
    """The chain of docs/training.md, over a copy of RAGBench, with chat models by script."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    served = [(name, food, FOODS[-1] if name in NAMES[::2] else food) for name, food in PAIRS]
    lines = {
        "ragbench/techqa/train": [
            {
                "id": f"{name}{food}",
                "question": f"What does {name} serve?",
                "documents": [f"{name} serves {food} food.", f"{name} is in the area."],
            }
            | UNREAD
            for name, food, _ in served
        ],
        "writes": [
            {"match": f"{name} serves {food} food.", "text": f"{name} serves {told} food."}
            for name, food, told in served
        ],
        "labels": [
            {"match": f"[1.1] {name} serves {food} ", "text": said(food == told)}
            for name, food, told in served
        ],
    }
    for path, rows in lines.items():
        write_lines(tmp_path / f"{path}.jsonl", *rows)
    options = ["--source", "techqa/train", "--data", "ragbench", "--output", "techqa.jsonl"]
    options += ["--generator", "@fake?script=writes.jsonl"]
    options += ["--annotator", "@fake?script=labels.jsonl"]
    succeed(*options, app=label_by_model)
    assert len(list(read_labelled(tmp_path / "techqa.jsonl"))) == len(served) == 48

    paper = yaml.safe_load((RECIPES / "luna-paper.yaml").read_text(encoding="utf-8"))
    stage = paper["stages"]["rag-qa"] | {"labelled": {"techqa.jsonl": 0}, "epochs": 1}
    stage |= {"changed": {"inserted": 10, "shuffled": 10}}
    tiny = {name: RUN[name] for name in ("base", "window", "lead", "claim", "precision")}
    tiny |= {"head_from": "new", "held_back": 0.1, "stages": {"rag-qa": stage}}
    Path("tiny.yaml").write_text(yaml.safe_dump(paper | tiny), encoding="utf-8")
    succeed("train", "luna", "tiny.yaml", "--data", data, "--base", base)
    folder = tmp_path / "runs" / "tiny" / "luna-int8"
    config = json.loads((folder / "luna.json").read_text())
    assert (config["windows"], config["aggregation"], config["answer"]) == (0, "min", "max")
    (verdict,) = load_judge(f"luna:{folder}")([EXAMPLE])
    assert verdict.error is None


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (
            {"a": RUN["stages"]["pairs"], "b": {"pairs": {"nothing": 9}, "epochs": 1}},
            "nothing is not in",
        ),
        ({"a": {"pairs": {"snli": 9}, "epochs": 1}}, "snli__"),
        ({"a": {"changed": {"removed": 4}, "epochs": 1}}, "a: the stage has no item"),
    ],
)
def test_what_cannot_be_trained_on_is_said(data, base, tmp_path, stages, message):
    recipe = write(tmp_path / "tiny.yaml", stages=stages)
    out = tmp_path / "out"
    result = moonlynx("train", "luna", recipe, "--data", data, "--base", base, "--out", out)
    assert isinstance(result.exception, MoonlynxError)
    assert message in str(result.exception)
    assert not list(out.rglob("*.safetensors"))


def test_without_data_the_command_says_what_to_set(monkeypatch):
    monkeypatch.delenv("MOONLYNX_DATA", raising=False)
    result = moonlynx("train", "luna", "mini")
    assert result.exit_code == 2
    assert "MOONLYNX_DATA" in result.output


def run_of(**settings):
    return Run.model_validate(RUN | settings)


def test_a_base_is_held_to_its_hash_and_its_name(tmp_path):
    with pytest.raises(BaseNotFound, match=r"has no model\.safetensors"):
        find_base(run_of(), tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    assert find_base(run_of(), tmp_path) == tmp_path
    with pytest.raises(BaseNotFound, match="the recipe names 0000"):
        find_base(run_of(base_sha256="0" * 64), tmp_path)
    with pytest.raises(BaseNotFound, match=r"no-one/tiny-trunk is not available.*--base"):
        find_base(run_of(base="no-one/tiny-trunk"), None)


@pytest.mark.heavy
def test_heads_start_as_the_nli_classifier(base, tmp_path):
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    labels = {0: "Entailment", 1: "neutral", 2: "contradiction"}
    config = BertConfig.from_pretrained(
        base, id2label=labels, label2id={v: k for k, v in labels.items()}
    )
    model = BertForSequenceClassification(config)
    torch.nn.init.normal_(model.classifier.bias)
    model.save_pretrained(tmp_path)
    network = start_network(tmp_path, run_of(head_from="nli"))
    for part in ("weight", "bias"):
        rows = getattr(model.classifier, part)
        for head in (network.claim, network.tokens):
            assert torch.equal(getattr(head, part).reshape(-1), (rows[0] - rows[2]).reshape(-1))
    trunk = dict(network.trunk.named_parameters())
    for name, value in model.bert.named_parameters():
        assert name.startswith("pooler") or torch.equal(trunk[name], value), name
    with pytest.raises(BaseNotFound, match=r"no NLI classifier.*head_from: new"):
        start_network(base, run_of(head_from="nli"))


@pytest.mark.heavy
def test_new_heads_are_the_seeds_and_windows_fit_the_base(base):
    import torch

    one, same, other = (start_network(base, run_of(seed=seed)).claim.weight for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    with pytest.raises(SettingsError, match=r"window: 100000 tokens.*positions"):
        start_network(base, run_of(window=100_000))
