import json
import math

import numpy as np
import pytest

from moonlynx.judge.contract.types import JudgeError, JudgeInfo, MetricVerdict
from moonlynx.judge.metrics.adapter import probabilities
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.preflight import TokenMap
from moonlynx.recipes.luna2.encoding import class_weights, collate, targets_of
from moonlynx.recipes.luna2.model import class_logits, class_loss
from moonlynx.recipes.luna2.scaling import fit
from moonlynx.recipes.luna2.score import app, score_metric

from ...cases import write_lines
from ...command import moonlynx, succeed
from .rows import multi_label, row

TRUE_FALSE = TokenMap(written={"true": "true", "false": "false"}, ids={"true": 7, "false": 3})


@pytest.mark.heavy
def test_the_loss_is_over_the_class_tokens_alone():
    import torch

    # Two rows, two places, a vocabulary of five; tokens 4 and 1 are the classes.
    vocabulary = torch.tensor(
        [
            [[9.0, 1.0, 0.0, 0.0, 2.0], [0.0, 3.0, 9.0, 0.0, 1.0]],
            [[0.0, 0.0, 0.0, 9.0, 0.0], [9.0, -1.0, 0.0, 0.0, 1.0]],
        ]
    )

    class Model:
        def __call__(self, **inputs):
            assert "targets" not in inputs
            return type("Output", (), {"logits": vocabulary})

    logits = class_logits(Model(), {"targets": None}, [4, 1])
    assert logits.tolist() == [[[2.0, 1.0], [1.0, 3.0]], [[0.0, 0.0], [1.0, -1.0]]]

    def entropy(right, wrong):
        return -math.log(math.exp(right) / (math.exp(right) + math.exp(wrong)))

    expected = (entropy(2, 1) + entropy(3, 1) + 2 * entropy(0, 0) + 3 * entropy(1, -1)) / 4
    weights = torch.tensor([[1.0, 2.0], [3.0, 1.0]])
    targets = torch.tensor([[0, 1], [1, 0]])
    assert class_loss(logits, targets, weights).item() == pytest.approx(expected)
    # What the rest of the vocabulary says changes nothing.
    vocabulary[..., [0, 2, 3]] += 50
    assert class_loss(class_logits(Model(), {}, [4, 1]), targets, weights).item() == pytest.approx(
        expected
    )


def test_rare_classes_weigh_more_and_targets_are_in_order():
    targets = [[0], [0], [0], [1]]
    assert class_weights(targets, 2, "none") == [[1.0, 1.0]]
    ((common, rare),) = class_weights(targets, 2, "balanced")
    assert (3 * common, 1 * rare) == pytest.approx((2, 2))
    # A class that no row has is left out of the balance.
    assert class_weights([[0], [1]], 3, "balanced") == [[1.0, 1.0, 1.0]]
    assert class_weights([[0, 1], [0, 0]], 2, "balanced") == [[1.0, 1.0], [1.0, 1.0]]
    tone, pii = load_definition("tone"), load_definition("pii")
    assert targets_of(row(1, "x", ["anger"]), tone) == [list(tone.classes).index("anger")]
    assert targets_of(row(1, "x", ["true"]), load_definition("toxicity")) == [0]
    assert targets_of(row(1, "x", ["false"]), load_definition("toxicity")) == [1]
    names = list(pii.classes)
    both = targets_of(multi_label()[3], pii)
    assert [name for name, target in zip(names, both, strict=True) if target == 0] == [
        name for name in names if name in ("email", "phone")
    ]


@pytest.mark.heavy
def test_a_batch_is_padded_on_the_left():
    rows = [
        {"input_ids": [5, 6, 7, 8, 9], "targets": [0, 1]},
        {"input_ids": [6, 7, 8, 9], "targets": [1, 1]},
    ]
    batch = collate(rows, [4, 1])
    assert batch["input_ids"].tolist() == [[5, 6, 7, 8, 9], [0, 6, 7, 8, 9]]
    assert batch["attention_mask"].tolist() == [[1] * 5, [0, 1, 1, 1, 1]]
    assert batch["position_ids"].tolist() == [[0, 1, 2, 3, 4], [0, 0, 1, 2, 3]]
    assert batch["logits_to_keep"].tolist() == [1, 4]
    assert batch["targets"].tolist() == [[0, 1], [1, 1]]


@pytest.mark.heavy
def test_temperature_and_bias_are_found_again():
    generator = np.random.default_rng(3)
    true_odds = generator.normal(0.0, 2.0, 4000)
    right = (generator.random(4000) > 1 / (1 + np.exp(-true_odds))).astype(np.int64)
    # A model too sure by a factor of three, and leaning towards true.
    logits = np.stack([3 * (true_odds + 1.0), np.zeros(4000)], -1)[:, None, :]
    fitted = fit(load_definition("toxicity"), TRUE_FALSE, logits, right[:, None])
    assert fitted.after < fitted.before
    assert fitted.scaling.temperature == pytest.approx(3.0, rel=0.15)
    bias = fitted.scaling.bias
    assert bias["true"] - bias["false"] == pytest.approx(-1.0, abs=0.15)
    found = probabilities(load_definition("toxicity"), TRUE_FALSE, fitted.scaling, [(3.0, 0.0)])
    assert found["true"] == pytest.approx(0.5, abs=0.03)
    assert fitted.thresholds["true"] == pytest.approx(0.4, abs=0.15)
    few = fit(load_definition("toxicity"), TRUE_FALSE, logits[:4], right[:4, None])
    assert (few.thresholds, few.before, few.after) == ({}, None, None)
    assert few.scaling.temperature == 1.0


@pytest.mark.heavy
def test_each_label_has_its_own_threshold():
    pii = load_definition("pii")
    generator = np.random.default_rng(5)
    labels = len(pii.classes)
    right = generator.integers(0, 2, (60, labels))
    right[:, 0] = 1  # a label that no row has: nothing to fit
    logits = np.stack([1.0 - right, right], -1) * 4.0
    fitted = fit(pii, TRUE_FALSE, logits, right)
    names = list(pii.classes)
    assert list(fitted.thresholds) == names
    assert fitted.thresholds[names[0]] == 0.5
    high, low = (
        probabilities(pii, TRUE_FALSE, fitted.scaling, [at] * labels)
        for at in ((4.0, 0.0), (0.0, 4.0))
    )
    for name in names[1:]:
        assert low[name] < fitted.thresholds[name] <= high[name] + 1e-6


class Parrot:
    """A metric that says true where the text has "fool" in it, and of long texts nothing."""

    info = JudgeInfo(name="parrot", version="1")
    definition = load_definition("toxicity")
    thresholds: dict = {}  # noqa: RUF012
    calibrated = False

    def __call__(self, inputs):
        verdicts = []
        for one in inputs:
            chance = 0.9 if "fool" in one.output else 0.1
            said = {"labels": {"true": chance, "false": 1 - chance}}
            if len(one.output) > 50:
                said = {"error": JudgeError(code="too_long", message="too long")}
            verdicts.append(MetricVerdict(id=one.id, metric="toxicity", **said))
        return verdicts


def test_what_is_unscored_counts_as_wrong():
    rows = [
        *(row(number, "A fool.", ["true"]) for number in range(4)),
        *(row(10 + number, "A friend.", ["false"]) for number in range(4)),
    ]
    scored = score_metric(Parrot(), rows)
    assert (scored.rows, scored.unscored) == (8, {})
    assert scored.figures["f1_macro"][0] == scored.figures["auroc"][0] == 1.0
    long = [row(20 + number, "A fool. " * 9, ["true"]) for number in range(4)]
    scored = score_metric(Parrot(), [*rows, *long])
    assert (scored.rows, scored.unscored) == (12, {"too_long": 4})
    assert scored.figures["f1_macro"][0] == pytest.approx(2 / 3)  # F1 of either is 2/3


def test_a_metric_that_is_a_judge_is_scored_on_the_rows_of_one_source(tmp_path):
    rows = tmp_path / "rows.jsonl"
    asked = {"input": "When does it open?", "context": ["The mill opens in May."]}
    right = asked | {"output": "The mill opens in May.", "labels": ["true"], "source": "mill"}
    wrong = right | {"output": "The mill was torn down by a storm.", "labels": ["false"]}
    write_lines(rows, right, wrong, right | {"source": "elsewhere"})
    name, data = "luna2:context_adherence", ("--data", rows)
    printed = succeed(name, *data, "--source", "mill", "--output", tmp_path / "out.json", app=app)
    assert "auroc      1.000" in printed
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"] == 2
    elsewhere = (name, *data, "--source", "sea")
    for bad, named in ((elsewhere, "none of elsewhere, mill"), (("all", *data), "one metric")):
        result = moonlynx(*bad, app=app)
        assert result.exit_code == 2
        assert named in result.output
