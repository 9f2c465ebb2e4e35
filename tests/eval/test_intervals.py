import numpy as np
import pytest

from moonlynx.eval.bootstrap import interval
from moonlynx.eval.intervals import wilson
from moonlynx.eval.metrics import estimates, resample

from .test_metrics import outcomes


def simulate(rng, n):
    """A judge that is right on 80 % of the rows, whose scores overlap."""
    fail = rng.random(n) < 0.4
    said = np.where(rng.random(n) < 0.8, fail, ~fail)
    return outcomes(fail, said, fail + rng.normal(0, 1, n))


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(3)
    # AUROC of two normals one standard deviation apart is Phi(1 / sqrt 2).
    truth = {"accuracy": 0.8, "balanced_accuracy": 0.8, "recall": 0.8, "auroc": 0.76025}
    held = dict.fromkeys(truth, 0)
    trials = 200
    for trial in range(trials):
        rows = simulate(rng, 200)
        drawn, point = resample([rows], 300, (trial,))[0], estimates(rows)
        for name, value in truth.items():
            found = interval(point[name], drawn[name])
            held[name] += found.low <= value <= found.high
    # Standard error of a share of .95 over 200 trials: 1.5 points.
    assert all(0.90 * trials <= count <= 0.99 * trials for count in held.values()), held


def test_draws_are_those_of_the_seed_however_many_fit_into_memory(monkeypatch):
    rows = simulate(np.random.default_rng(1), 50)
    one, other = resample([rows, rows], 100, (7, 1))
    assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)
    assert np.array_equal(resample([rows], 100, (7, 1))[0]["accuracy"], one["accuracy"])
    assert not np.array_equal(resample([rows], 100, (7, 2))[0]["accuracy"], one["accuracy"])
    monkeypatch.setattr("moonlynx.eval.bootstrap._CELLS", 120)
    drawn = resample([rows], 101, (0,))[0]["accuracy"]
    assert drawn.shape == (101,)
    assert np.mean(drawn) == pytest.approx(estimates(rows)["accuracy"], abs=0.03)


def test_wilson_and_draws_that_are_undefined():
    assert wilson(95, 100) == pytest.approx((0.95, 0.8882, 0.9785), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0, 0, 0.2775), abs=1e-4)
    with pytest.raises(ValueError, match="nothing was counted"):
        wilson(0, 0)
    value = interval(0.5, np.array([0.4, np.nan, 0.6, 0.5]))
    assert 0.4 <= value.low < value.high <= 0.6
    value = interval(0.5, np.array([0.4, np.nan, np.nan]))
    assert (value.value, value.low, value.high) == (0.5, None, None)
    value = interval(np.nan, np.array([0.4, 0.5]))
    assert (value.value, value.low, value.high) == (None, None, None)
