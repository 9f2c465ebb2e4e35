import math
import random

import numpy as np
import pytest
from scipy.stats import binom

from moonlynx.judge.decision.conformal import RiskCurve, binomial_cdf, fit_curve, rows_needed

from ...fitting import fit
from ...labelled_data import needs_data

DRAWS = 200
# More failures than this in `DRAWS` draws, each with a chance of 5 %, happen once in a thousand.
MOST_FAILURES = int(binom.ppf(0.999, DRAWS, 0.05))


@pytest.mark.parametrize("trials", [1, 2, 30, 997, 20_000])
@pytest.mark.parametrize("p", [0.001, 0.05, 0.5, 0.97])
def test_the_binomial_is_scipys(trials, p):
    likely = binom.ppf([0.0, 1e-9, 0.01, 0.5, 0.99], trials, p).astype(int)
    for successes in {*np.clip(likely, 0, None).tolist(), trials - 1, trials}:
        reference = binom.cdf(successes, trials, p)
        assert binomial_cdf(successes, trials, p) == pytest.approx(reference, rel=1e-8, abs=1e-300)


# Scores are uniform on (0, 1], and P(FAIL | score) is a step function: ten steps of equal width.
STEPS = {
    "rising": [0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9],
    "nowhere low enough": [0.101] * 10,
    "just low enough, then not": [0.099] * 5 + [0.5] * 5,
    "worst where the score is lowest": [0.4, 0.05, 0.02, 0.02, 0.02, 0.02, 0.5, 0.5, 0.5, 0.5],
    "up and down": [0.02, 0.3, 0.02, 0.02, 0.3, 0.02, 0.02, 0.02, 0.5, 0.9],
}
RISK = 0.1


def true_risk(steps, score):
    whole = int(score * 10 + 1e-9)
    part = score * 10 - whole
    tail = part * steps[whole] if part > 1e-9 else 0.0
    return (sum(steps[:whole]) + tail) / (10 * score)


def draw(steps, count, seed, decimals):
    source = np.random.default_rng(seed)
    scores = 1 - source.random(count)
    failed = source.random(count) < np.array(steps)[np.ceil(scores * 10).astype(int) - 1]
    # Rounded up, scores tie, and those that are passed are the same set as before.
    return np.ceil(scores * 10**decimals - 1e-12) / 10**decimals, failed


def failures(steps, choose, *, decimals=4, count=400):
    above, passed = 0, []
    for seed in range(DRAWS):
        score = choose(*draw(steps, count, seed, decimals))
        if score is not None and true_risk(steps, score) > RISK:
            above += 1
        else:
            passed.append(score or 0.0)
    return above, passed


def certified(scores, failed):
    return fit_curve(scores, failed).certify(RISK, confidence=0.95, below=math.inf)


def without_a_test(scores, failed):
    """Take the highest score at which the risk on these very rows is low enough."""
    order = np.argsort(scores)
    shares = np.cumsum(failed[order]) / np.arange(1, len(scores) + 1)
    below = np.flatnonzero(shares <= RISK)
    return float(scores[order][below[-1]]) if len(below) else None


@pytest.mark.parametrize("decimals", [1, 4], ids=["ties", "no ties"])
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_the_risk_is_kept_as_often_as_stated(steps, decimals):
    above, _ = failures(steps, certified, decimals=decimals)
    assert above <= MOST_FAILURES


@pytest.mark.heavy
def test_most_of_what_could_be_passed_is_passed_and_a_wrong_method_would_show():
    steps = STEPS["rising"]
    could = max(score / 1000 for score in range(1, 1001) if true_risk(steps, score / 1000) <= RISK)
    assert could == pytest.approx(0.656, abs=0.01)
    _, few = failures(steps, certified)
    _, many = failures(steps, certified, count=2_000)
    assert np.mean(few) > 0.6 * could
    assert np.mean(many) > 0.8 * could
    above, _ = failures(STEPS["rising"], without_a_test)
    assert above > 4 * MOST_FAILURES


@pytest.mark.parametrize("risk", [0.02, 0.1, 0.5])
def test_the_rows_needed_are_needed(risk):

    def vouched_for(count):
        curve = fit_curve(np.zeros(count), np.zeros(count, dtype=bool))
        return curve.certify(risk, confidence=0.95, below=1.0) is not None

    needed = rows_needed(risk, 0.95)
    assert not any(vouched_for(count) for count in range(4, needed))
    assert vouched_for(needed)


def test_the_lowest_risk_is_the_lowest_and_thresholds_below_are_vouched_for():
    curve = fit_curve(*draw(STEPS["rising"], 200, 0, 4))
    lowest = curve.lowest_risk(0.0, confidence=0.95, below=math.inf)
    assert lowest is not None
    assert curve.certify(lowest, confidence=0.95, below=math.inf) is not None
    for percent in range(1, round(100 * lowest)):
        assert curve.certify(percent / 100, confidence=0.95, below=math.inf) is None
    assert curve.lowest_risk(0.0, confidence=0.95, below=-1.0) is None
    scores, failed = draw([0.3] * 10, 400, 0, 4)
    curve = fit_curve(scores, failed)
    for below in (0.3, 0.6, 0.9, math.inf):
        found = curve.certify(0.6, confidence=0.95, below=below)
        assert found is not None
        assert min(below, 1.0) - 0.05 < found < below


def test_the_counts_are_those_of_the_rows():
    scores, failed = draw(STEPS["rising"], 1_000, 0, 2)
    curve = fit_curve(scores, failed)
    assert len(curve.raw_scores) <= 100
    for place, score in enumerate(curve.raw_scores):
        rows = curve.proposing_rows[place] + curve.testing_rows[place]
        fails = curve.proposing_fails[place] + curve.testing_fails[place]
        assert rows == (scores <= score).sum()
        assert fails == failed[scores <= score].sum()
    assert curve.proposing_rows[-1] == 250
    assert RiskCurve.model_validate_json(curve.model_dump_json()) == curve


@pytest.mark.heavy
@needs_data
def test_the_risk_is_kept_on_held_out_answers_of_ragtruth():
    """Calibrated on 391 answers to 66 sources, held against those to the sources of the test."""
    from moonlynx.eval.benchmarks import load_benchmark
    from moonlynx.judge.registry import load_judge

    judge = load_judge("token-similarity")
    fitted_on = load_benchmark("ragtruth", split="train").rows
    # The training part has no data-to-text.
    held_out = [row for row in load_benchmark("ragtruth").rows if row.subset != "Data2txt"]
    held_out = random.Random(0).sample(held_out, 300)
    calibration = fit(
        judge.info,
        [verdict.raw_score for verdict in judge([row.example for row in fitted_on])],
        [row.label for row in fitted_on],
    )
    scores = np.array([verdict.raw_score for verdict in judge([row.example for row in held_out])])
    failed = np.array([row.label == "FAIL" for row in held_out])
    for risk in (0.2, 0.3):
        score = calibration.curve.certify(risk, confidence=0.95, below=calibration.threshold)
        passed = scores <= score
        assert passed.mean() > 0.3
        assert failed[passed].mean() <= risk
    assert calibration.curve.certify(0.05, confidence=0.95, below=calibration.threshold) is None
