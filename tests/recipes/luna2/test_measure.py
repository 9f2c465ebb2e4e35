from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from moonlynx.eval.bootstrap import draw_groups
from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.recipes.luna2.baselines import majority
from moonlynx.recipes.luna2.data import LabelledInput
from moonlynx.recipes.luna2.measure import (
    decide,
    fit_thresholds,
    gains,
    measure,
    read_gold,
)

TOXICITY = load_definition("toxicity")


def rows(count, groups=50, seed=0):
    rng = np.random.default_rng(seed)
    return [
        LabelledInput(
            MetricInput(input="", output=f"text {n}"),
            frozenset({"true" if rng.random() < 0.3 else "false"}),
            f"g{n % groups}",
            "one" if n % 2 else "other",
        )
        for n in range(count)
    ]


def scores(gold, seed=1):
    rng = np.random.default_rng(seed)
    p = np.clip(0.3 * gold.flags[:, 0] + 0.6 * rng.random(len(gold.flags)), 0, 1).round(2)
    return np.stack([p, 1 - p], axis=1)


def test_the_figures_are_those_of_scikit_learn():
    gold = read_gold(rows(300), TOXICITY)
    p = scores(gold)
    said = decide(TOXICITY, p, {"true": 0.4})
    found = measure(gold, (p, said))
    held, called = gold.flags[:, 0], said[:, 0]
    assert found["auroc"][0] == pytest.approx(roc_auc_score(held, p[:, 0]))
    assert found["f1_macro"][0] == pytest.approx(f1_score(held, called, average="macro"))
    assert found["f1_rare"][0] == pytest.approx(f1_score(held, called))
    for value, low, high in found.values():
        assert low <= value <= high or value == pytest.approx(low, abs=0.05)


def test_groups_are_drawn_whole_and_the_majority_is_that_of_training():
    groups = [f"g{n % 7}" for n in range(70)]
    draws = draw_groups(groups, 1_000, 0)
    assert np.array_equal(draws[:, :7], draws[:, 7:14])
    assert set(draws[:, :7].sum(axis=1)) == {7}
    training, others = rows(200), rows(10, seed=3)
    share = np.mean([row.labels == {"true"} for row in training])
    assert majority(TOXICITY, training, others)[:, 0] == pytest.approx(share)


def test_a_system_gains_nothing_on_itself_and_something_on_chance():
    gold = read_gold(rows(300), TOXICITY)
    p = scores(gold)
    ours = p, decide(TOXICITY, p, {"true": 0.4})
    assert set(gains(gold, ours, ours)["auroc"]) == {0}
    flat = np.full_like(p, 0.5)
    value, low, _ = gains(gold, ours, (flat, decide(TOXICITY, flat, {})))["auroc"]
    assert value > 0.3
    assert low > 0.2


def test_draws_without_a_label_have_no_auroc():
    gold = read_gold(rows(40, groups=2), TOXICITY)
    flags = np.zeros_like(gold.flags)
    flags[:, 1] = True
    one = gold.flags.copy()
    one[0], one[1:] = (True, False), (False, True)  # in one group of two: a quarter draw none
    p = scores(gold)
    said = decide(TOXICITY, p, {"true": 0.4})
    assert all(np.isnan(each) for each in measure(replace(gold, flags=flags), (p, said))["auroc"])
    ranked = np.sum(p[0, 0] > p[1:, 0]) + np.sum(p[0, 0] == p[1:, 0]) / 2
    value, low, high = measure(replace(gold, flags=one), (p, said))["auroc"]
    assert value == pytest.approx(ranked / 39)
    assert low <= value <= high
    assert not low <= 0.5 <= high


def test_the_threshold_has_the_best_macro_f1():
    gold = read_gold(rows(400), TOXICITY)
    p = scores(gold)
    fitted = fit_thresholds(TOXICITY, gold.flags, p)
    best = measure(gold, (p, decide(TOXICITY, p, fitted)))["f1_macro"][0]
    for bar in (0.2, 0.4, 0.6):
        assert best >= measure(gold, (p, decide(TOXICITY, p, {"true": bar})))["f1_macro"][0] - 0.02
