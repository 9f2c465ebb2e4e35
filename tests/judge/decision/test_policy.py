import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.contract.base import unscored
from moonlynx.judge.contract.types import JudgeInfo, Usage, Verdict
from moonlynx.judge.decision.cost import Price, PriceTable
from moonlynx.judge.decision.policy import (
    Budget,
    PolicyError,
    Rows,
    Spending,
    fit_budget,
    fit_risk,
    load_policy,
)
from moonlynx.judge.files.stored import save_record

from .test_conformal import DRAWS, MOST_FAILURES, RISK

FIRST = JudgeInfo(name="first", version="1")
SECOND = JudgeInfo(name="second:big", version="1")
SHA = "0" * 64
LABELS = ("PASS", "FAIL")


def first(raw_score, score=None):
    if raw_score is None and score is None:
        return unscored(FIRST, None, "too_long", "too long")
    said = score or ("FAIL" if (raw_score or 0) >= 0.5 else "PASS")
    return Verdict(score=said, raw_score=raw_score, judge=FIRST)


def second(score):
    usage = Usage(calls=1, input_tokens=1_000, output_tokens=100)
    if score is None:
        return unscored(SECOND, None, "timeout", "slow", usage)
    return Verdict(score=score, judge=SECOND, usage=usage)


def fit(one, labels, two, limit=1.0, **changed):
    spending = Spending(np.zeros(len(labels)), np.ones(len(labels)), limit)
    settings = {"objective": "accuracy", "on_failure": "unscored", "budget": f"share<={limit:g}"}
    return fit_budget(Rows(one, labels, SHA), two, spending, **settings | changed)


def right(policy, one, labels, two):
    kept = [policy.keeps(verdict) for verdict in one]
    final = [a if stands else b for a, b, stands in zip(one, two, kept, strict=True)]
    return sum(v.score == g for v, g in zip(final, labels, strict=True)), kept.count(False)


scored = st.sampled_from([0.0, 0.1, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0])
row = st.tuples(
    st.one_of(scored, st.none()), st.sampled_from(LABELS), st.sampled_from([*LABELS, None])
)


@pytest.mark.fuzz
@given(st.lists(row, min_size=20, max_size=40), st.sampled_from([0.0, 0.1, 0.3, 0.6, 1.0]))
def test_no_other_two_scores_do_better_within_the_budget(drawn, limit):
    one, labels, two = (
        [first(score) for score, _, _ in drawn],
        [label for _, label, _ in drawn],
        [second(said) for _, _, said in drawn],
    )
    raw = [verdict.raw_score for verdict in one]
    if len(set(labels)) < 2 or all(score is None for score in raw):
        return
    if raw.count(None) > limit * len(raw):
        with pytest.raises(PolicyError, match="too small"):
            fit(one, labels, two, limit)
        return
    policy = fit(one, labels, two, limit)
    found, handed_on = right(policy, one, labels, two)
    assert handed_on <= limit * len(raw) + 1e-9
    assert policy.accuracy == pytest.approx(found / len(raw))
    assert policy.handed_on == pytest.approx(handed_on / len(raw))
    edges = [None, -1.0, 0.05, 0.2, 0.35, 0.45, 0.55, 0.7, 0.9, 2.0]
    for low, high in itertools.product(edges, edges):
        other = policy.model_copy(update={"pass_up_to": low, "fail_from": high})
        got, more = right(other, one, labels, two)
        if more <= limit * len(raw) + 1e-9:
            assert (found, -handed_on) >= (got, -more)


def test_what_the_second_judge_fails_on_counts_as_the_cascade_would_have_it():
    labels = ["PASS"] * 10 + ["FAIL"] * 10
    # All are right but five of the FAILs, on which the second has nothing to say.
    one = [first(0.1)] * 10 + [first(0.9)] * 5 + [first(0.4)] * 5
    two = [second("PASS")] * 10 + [second("FAIL")] * 5 + [second(None)] * 5
    assert fit(one, labels, two).accuracy == 0.75
    one = [first(0.6)] * 10 + [first(0.9)] * 10
    two = [second("PASS")] * 10 + [second(None)] * 10
    for on_failure in ("keep", "unscored"):
        assert fit(one, labels, two, on_failure=on_failure).accuracy == 1.0


def test_balanced_accuracy_weighs_the_labels_alike():
    labels = ["PASS"] * 18 + ["FAIL"] * 2
    one = [first(0.3)] * 20
    assert fit(one, labels, [second("FAIL")] * 20).handed_on == 0.0
    two = [second("PASS")] * 14 + [second("FAIL")] * 6
    assert fit(one, labels, two).handed_on == 0.0
    assert fit(one, labels, two, objective="balanced-accuracy").handed_on == 1.0


def test_money_and_time_are_spent_by_what_is_handed_on():
    one, two = [first(0.1)] * 3, [second("PASS")] * 3
    table = PriceTable(
        updated="2026-11-21",
        currency="USD",
        source="test",
        models={"big": Price(2.0, 10.0)},
    )
    money = Budget.parse("money<=1.5").spending(one, two, [], [], table)
    # 1,000 tokens in and 100 out: 0.2 and 0.1 cents.
    assert money.both == pytest.approx([0.003] * 3)
    assert (money.alone.tolist(), money.allowed) == ([0.0] * 3, 0.0015)
    time = Budget.parse("p95<=1").spending(one, two, [0.1, 0.5, 2], [0.5, 0.6, 0], table)
    assert (time.alone.tolist(), time.both.tolist(), time.allowed) == (
        [0, 0, 1],
        [0, 1, 1],
        0.05,
    )
    with pytest.raises(PolicyError, match="times of some rows are missing"):
        Budget.parse("p95<=1").spending(one, two, [0.1], [0.5], table)
    empty = table.model_copy(update={"models": {}})
    with pytest.raises(PolicyError, match="no price for big"):
        Budget.parse("money<=1").spending(one, two, [], [], empty)


@pytest.mark.parametrize("text", ["", "share", "share<=", "share<0.2", "cost<=1", "share<=-1"])
def test_what_is_no_budget_is_said(text):
    with pytest.raises(PolicyError, match=r"is no budget; write share<=S"):
        Budget.parse(text)


def test_rows_that_allow_no_fit_say_why():
    many = ["PASS", "FAIL"] * 20
    with pytest.raises(PolicyError, match="3 labelled rows are too few"):
        fit([first(0.1)] * 3, ["PASS"] * 3, [second("PASS")] * 3)
    with pytest.raises(PolicyError, match="all rows are labelled PASS"):
        fit([first(0.1)] * 30, ["PASS"] * 30, [second("PASS")] * 30)
    with pytest.raises(PolicyError, match="no row has a raw score"):
        fit([first(None, "PASS")] * 40, many, [second("PASS")] * 40)
    with pytest.raises(PolicyError, match=r"the budget share<=0.2 is too small"):
        fit([first(None), first(0.3)] * 20, many, [second("PASS")] * 40, 0.2)
    with pytest.raises(PolicyError, match=r"cannot vouch for a risk of 0.05"):
        fit_risk(Rows([first(0.2), first(0.8)] * 20, many, SHA), risk=0.05, confidence=0.95)
    for bad in (0.0, 1.0, -1.0):
        with pytest.raises(PolicyError, match="risk must be above 0"):
            fit_risk(Rows([first(0.2)] * 40, many, SHA), risk=bad, confidence=0.95)


# A judge whose threshold is 0.5: P(label FAIL) is a step function of its score, which is uniform.
STEPS = np.array([0.02, 0.05, 0.1, 0.3, 0.5, 0.5, 0.7, 0.9, 0.95, 0.98])
VERDICTS = {score: first(score) for score in (np.arange(1_001) / 1_000).round(3).tolist()}


def true_risks(policy):
    """Return the share of wrong verdicts among the PASS and the FAIL that stand."""
    scores = (np.arange(10_000) + 0.5) / 10_000
    fails = STEPS[(scores * 10).astype(int)]
    lowest = -1.0 if policy.pass_up_to is None else policy.pass_up_to
    highest = 2.0 if policy.fail_from is None else policy.fail_from
    passed, failed = (scores < 0.5) & (scores <= lowest), (scores >= 0.5) & (scores >= highest)
    return (
        float(fails[passed].mean()) if passed.any() else 0.0,
        float(1 - fails[failed].mean()) if failed.any() else 0.0,
    )


@pytest.mark.heavy
def test_both_risks_are_kept_as_often_as_stated():
    broken, handed_on = 0, []
    for seed in range(DRAWS):
        source = np.random.default_rng(seed)
        scores = source.random(800).round(3)
        fails = source.random(800) < STEPS[np.minimum((scores * 10).astype(int), 9)]
        labels = ["FAIL" if fail else "PASS" for fail in fails]
        rows = Rows([VERDICTS[score] for score in scores.tolist()], labels, SHA)
        try:
            policy = fit_risk(rows, risk=RISK, confidence=0.95)
        except PolicyError:
            continue
        broken += max(true_risks(policy)) > RISK
        handed_on.append(policy.handed_on)
    assert broken <= MOST_FAILURES
    assert np.mean(handed_on) < 0.7, "a policy that hands everything on keeps any risk"


def test_a_risk_on_one_side_alone_hands_on_the_other():
    labels = ["PASS"] * 100 + ["FAIL"] * 50 + ["PASS"] * 50
    one = [first(n / 250) for n in range(100)] + [first(0.6)] * 100
    policy = fit_risk(Rows(one, labels, SHA), risk=0.1, confidence=0.95)
    assert policy.fail_from is None
    assert policy.pass_up_to is not None
    assert policy.second is None
    assert policy.kept() == f"PASS to {policy.pass_up_to:g}"
    policy.check(FIRST, SECOND)
    with pytest.raises(PolicyError, match="second:big version 1"):
        policy.check(SECOND, SECOND)


def test_a_policy_file_is_read_back_equal(tmp_path):
    labels = ["PASS", "FAIL"] * 10
    policy = fit([first(0.2), first(0.7)] * 10, labels, [second("PASS")] * 20)
    path = tmp_path / "policy.json"
    save_record(policy, path)
    assert load_policy(path) == policy
    for text, says in (("no", "file: "), ('{"first": 1}', "first"), (None, "cannot read")):
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        with pytest.raises(PolicyError, match=says):
            load_policy(path)
