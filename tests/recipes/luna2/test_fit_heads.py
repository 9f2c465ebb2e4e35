import json

import numpy as np
import pytest

from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.files.atomic import InUse, held
from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.encoder import heads_in
from moonlynx.judge.metrics.encoder.features import FeatureReader
from moonlynx.judge.metrics.encoder.head import save_heads
from moonlynx.judge.metrics.encoder.metric import EncoderMetric
from moonlynx.judge.metrics.encoder.states import StateEncoder
from moonlynx.recipes.luna2.data import LabelledInput, Splits, cap
from moonlynx.recipes.luna2.features import KeptFeatures, find_layers
from moonlynx.recipes.luna2.fit_heads import fit_head, score
from moonlynx.recipes.luna2.heads import run_heads

from ...command import moonlynx

BAD, GOOD = ("swine", "fool", "liar", "crook"), ("friend", "baker", "nurse", "singer")
CITIES = ("Rome", "Oslo", "Bergen", "Lima")
TOOL = {
    "name": "get_weather",
    "description": "Give the weather of a city.",
    "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def texts():
    for number in range(32):
        bad = number % 2 == 0
        word = (BAD if bad else GOOD)[number // 2 % 4]
        read = MetricInput(input="", output=f"You are a {word} of house {number}.")
        yield LabelledInput(read, frozenset({str(bad).lower()}), f"g{number}", "made")


def calls():
    for number in range(32):
        right = number % 2 == 0
        arguments = {"city": CITIES[number // 2 % 4]} if right else {}
        call = json.dumps([{"name": "get_weather", "arguments": arguments}])
        ask = f"How is the weather in {CITIES[number // 2 % 4]} on day {number}?"
        read = MetricInput(input=ask, output=call, tools=(TOOL,))
        yield LabelledInput(read, frozenset({str(right).lower()}), f"g{number}", "made")


def test_so_many_rows_are_kept_or_all():
    made = tuple(texts())
    splits = Splits(made, made[:8], made[:12], 3)
    assert cap(splits, None) == splits
    few = cap(splits, 8)
    assert (few.train, few.validation, few.test) == (made[:8], made[:2], made[:8])
    assert few.removed == 3


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("metric", "rows"), [("toxicity", list(texts())), ("tool_selection_quality", list(calls()))]
)
def test_a_fitted_head_judges_as_it_was_measured(metric, rows, tmp_path):
    weights, definition = open_weights(None, None), load_definition(metric)
    layers = find_layers(weights.path)
    assert len(layers) == 7
    reader = FeatureReader(StateEncoder(weights.path, layers), weights.tokenizer)
    kept = KeptFeatures(reader, layers, weights.tokenizer, tmp_path / "states")
    training, validation = (kept.read(metric, some) for some in (rows[:20], rows[20:]))
    head = fit_head(definition, kept.encoder, layers, training, validation)
    measured = score(definition, head, validation)
    save_heads([head], tmp_path / "heads")
    verdicts = EncoderMetric(metric, tmp_path / "heads")([read.row.input for read in validation])
    judged = [[verdict.labels[name] for name in definition.classes] for verdict in verdicts]
    # States are kept in half precision.
    assert np.abs(np.array(judged) - measured).max() < 5e-3
    held = [row.labels == {"true"} for row in rows[20:]]
    assert [p > 0.5 for p, _ in judged] == held


@pytest.mark.heavy
def test_a_run_measures_heads_writes_those_that_ship_and_goes_on(tmp_path, monkeypatch):
    made = list(texts())
    splits = Splits(tuple(made[:16]), tuple(made[16:24]), tuple(made[24:]), 0)
    monkeypatch.setattr("moonlynx.recipes.luna2.heads.load", lambda metric, data: splits)
    out, folder = tmp_path / "run", tmp_path / "heads"
    found = run_heads(tmp_path, out, folder, metrics=("toxicity",))["toxicity"]
    assert found["classes"] == {"true": 4, "false": 4}
    assert found["figures"]["majority"]["auroc"][0] == 0.5
    # The words of both classes are in training: TF-IDF knows them too, so there is nothing to gain.
    assert found["figures"]["TF-IDF"]["auroc"][0] == 1.0
    assert not found["ships"]
    assert heads_in(folder) == []
    assert json.loads((out / "results.json").read_text())["toxicity"]["rows"] == 8
    tables = (out / "tables.md").read_text()
    assert "| TF-IDF | " in tables
    monkeypatch.setattr("moonlynx.recipes.luna2.heads.run_metric", None)  # all of it is done
    run_heads(tmp_path, out, folder, metrics=("toxicity",))
    assert (out / "tables.md").read_text() == tables
    run_heads(tmp_path, out, folder, metrics=("toxicity",), anyway=True)
    assert heads_in(folder) == ["toxicity"]


def test_two_runs_in_one_folder_are_kept_apart(tmp_path):
    with held(tmp_path / "run" / "results.json"):
        options = ("--data", tmp_path, "--out", tmp_path / "run")
        result = moonlynx("train", "luna2-heads", *options)
    assert isinstance(result.exception, InUse)
    assert not (tmp_path / "run" / "states").exists()
