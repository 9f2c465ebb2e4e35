import numpy as np
import pytest
from sklearn import metrics as sk

from moonlynx.eval.benchmarks import BenchmarkError, BenchmarkRow
from moonlynx.eval.metrics import METRICS, SHARES, auroc, estimates, weighted_metrics
from moonlynx.eval.outcomes import Gold, Outcomes
from moonlynx.judge.contract.types import BadInput, Sentence, Span

from ..cases import cases

NAN = float("nan")


def outcomes(fail, said, raw_score=None, probability=None):
    n = len(fail)
    return Outcomes(
        np.array(fail, dtype=bool),
        np.array(said, dtype=np.int8),
        np.array(raw_score if raw_score is not None else [NAN] * n, dtype=float),
        np.array(probability if probability is not None else [NAN] * n, dtype=float),
        np.zeros((n, 3)),
        np.zeros((n, 3)),
        shares=np.full((n, 3), NAN),
        kinds=np.zeros((n, 2)),
        gives_spans=False,
        gives_sentences=False,
    )


def test_fixture_metrics_are_those_worked_out_by_hand(benchmark, judged):
    found = estimates(Gold(benchmark.rows).outcomes(judged("scripted", "scripted").verdicts))
    expected = {
        # FAIL rows: h2, h3, m3 caught; m2 called PASS; h6 unscored. PASS rows: h5 called FAIL; w2
        # unscored; h1, h4, m1, m4, w1 called PASS.
        "accuracy": 8 / 12,
        "balanced_accuracy": (3 / 5 + 5 / 7) / 2,
        "precision": 3 / 4,
        "recall": 3 / 5,
        "f1": 2 * 3 / (2 * 3 + 1 + 2),
        # Of 4 x 6 pairs with raw scores, only m2 (.4) stands below h5 (.6).
        "auroc": 23 / 24,
        "average_precision": (1 + 1 + 1 + 4 / 5) / 4,
        # 2.8 of the 4 FAIL rows with raw scores are above h5.
        "false_alarms": 0,
        # Unsupported in gold: h2, h3's second, h6, m2, m3; said: h2, h3's second, h5, m3.
        "sentence_f1": 2 * 3 / (4 + 5),
        # "45" of "45 metres", all of h3's 32, "red" of nothing, "Mondays" of "and Mondays".
        "span_f1": 2 * (2 + 32 + 7) / ((2 + 32 + 3 + 7) + (9 + 32 + 4 + 5 + 11)),
        # |gap| summed by bin: .1: .2, .2: .4, .3: .3, .4: .6, .6: .6, .7: .3, .8: .2, .9: .1
        "ece": 2.7 / 10,
        "brier": (0.01 + 0.01 + 0.04 + 0.04 + 0.36 + 0.09 + 0.36 + 0.09 + 0.01 + 0.04) / 10,
    }
    graded = {*SHARES, "contradicted"}  # these verdicts have none
    assert all(np.isnan(found.pop(name)) for name in graded)
    assert found == pytest.approx(expected)
    assert {*found, *graded} == set(METRICS)


@pytest.mark.parametrize("seed", range(10))
def test_metrics_agree_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 200))
    fail = rng.random(n) < 0.4
    fail[:2] = True, False
    score = np.round(np.clip(0.3 * fail + 0.7 * rng.random(n), 0, 1), int(rng.integers(1, 4)))
    said = (score > 0.5).astype(np.int8)
    weights = rng.integers(0, 4, size=(3, n)).astype(float)
    weights[:, :2] = 1
    found = weighted_metrics(outcomes(fail, said, score, score), weights)
    for index, weight in enumerate(weights):
        w = {"sample_weight": weight}
        alarms, recall, _ = sk.roc_curve(fail, score, drop_intermediate=False, **w)
        reached = np.argmax(recall >= 0.7 - 1e-9)
        expected = {
            "false_alarms": np.interp(
                0.7, recall[reached - 1 : reached + 1], alarms[reached - 1 : reached + 1]
            ),
            "accuracy": sk.accuracy_score(fail, said, **w),
            "balanced_accuracy": sk.balanced_accuracy_score(fail, said, **w),
            "recall": sk.recall_score(fail, said, **w),
            "f1": sk.f1_score(fail, said, **w),
            "auroc": sk.roc_auc_score(fail, score, **w),
            "average_precision": sk.average_precision_score(fail, score, **w),
            "brier": sk.brier_score_loss(fail, score, **w),
        }
        assert {name: found[name][index] for name in expected} == pytest.approx(expected)
        if weight @ said:
            precision = sk.precision_score(fail, said, **w)
            assert found["precision"][index] == pytest.approx(precision)


def test_unscored_rows_are_wrong_and_missed_and_stay_out_of_rankings():
    found = estimates(outcomes([1, 1, 0, 0], [1, -1, 0, -1]))
    assert found["accuracy"] == 0.5
    assert found["balanced_accuracy"] == 0.5
    assert (found["precision"], found["recall"]) == (1.0, 0.5)
    nothing_scored = estimates(outcomes([1, 0], [-1, -1]))
    assert (nothing_scored["accuracy"], nothing_scored["f1"]) == (0.0, 0.0)
    assert np.isnan(nothing_scored["precision"])
    found = estimates(outcomes([1, 0, 1, 0], [1, 0, -1, -1], raw_score=[0.9, 0.1, NAN, NAN]))
    assert found["auroc"] == 1.0
    assert np.isnan(estimates(outcomes([1, 0], [1, 0]))["auroc"])
    assert estimates(outcomes([1, 0], [1, 1], probability=[1.0, 0.95]))["ece"] == pytest.approx(
        0.475
    )


def test_an_auroc_of_one_label_is_undefined():
    assert auroc([True, False, True], [0.9, 0.5, 0.5]) == pytest.approx(0.75)
    assert auroc([True, True], [0.9, 0.1]) is None
    assert auroc([], []) is None


@pytest.mark.parametrize(
    ("fail", "undefined", "defined"),
    [
        ([0, 0, 0], {"balanced_accuracy", "precision", "recall", "f1"}, {"accuracy": 2 / 3}),
        ([1, 1, 1], {"balanced_accuracy"}, {"accuracy": 1 / 3, "recall": 1 / 3, "f1": 0.5}),
    ],
)
def test_one_class_alone_leaves_metrics_undefined(fail, undefined, defined):
    found = estimates(outcomes(fail, [1, 0, 0], raw_score=[0.9, 0.2, 0.1]))
    assert {name: found[name] for name in defined} == pytest.approx(defined)
    for name in undefined | {"auroc", "average_precision", "span_f1", "ece", "brier"}:
        assert np.isnan(found[name]), name


def test_constant_judges_have_the_metrics_of_a_constant(make_rows):
    rows = make_rows(["FAIL"] * 3 + ["PASS"] * 7)
    gold = Gold(rows)
    always_fail = estimates(gold.constant("FAIL"))
    assert always_fail["accuracy"] == pytest.approx(0.3)
    assert always_fail["f1"] == pytest.approx(2 * 0.3 / 1.3)
    assert (always_fail["auroc"], always_fail["average_precision"]) == pytest.approx((0.5, 0.3))
    always_pass = estimates(gold.constant("PASS"))
    assert (always_pass["accuracy"], always_pass["f1"]) == pytest.approx((0.7, 0.0))
    assert np.isnan(always_pass["precision"])
    rows = make_rows(["FAIL", "PASS"], answer="Tall. Red.", spans=[[(0, 4)], []])
    found = estimates(Gold(rows).constant("FAIL"))
    assert found["span_f1"] == pytest.approx(2 * 4 / (20 + 4))
    assert found["sentence_f1"] == pytest.approx(2 * 1 / (4 + 1))


def test_span_f1_counts_overlapping_spans_once_and_only_rows_with_gold_spans(
    make_rows, make_verdict
):
    rows = make_rows(["FAIL"], answer="abcdefghij", spans=[[(0, 4), (2, 6)]])
    spans = (Span(start=1, end=3, text="bc"), Span(start=2, end=8, text="cdefgh"))
    found = estimates(Gold(rows).outcomes([make_verdict(0, "FAIL", spans=spans)]))
    # Gold 0 to 6, said 1 to 8, both 1 to 6.
    assert found["span_f1"] == pytest.approx(2 * 5 / (6 + 7))
    known = make_rows(["FAIL"], answer="abcd", spans=[[(0, 2)]])
    unknown = [row._replace(id="x") for row in make_rows(["FAIL"], answer="abcd")]
    verdicts = [
        make_verdict(0, "FAIL", spans=(Span(start=0, end=2, text="ab"),)),
        make_verdict("x", "FAIL", spans=(Span(start=0, end=4, text="abcd"),)),
    ]
    gold = Gold([*known, *unknown])
    assert estimates(gold.outcomes(verdicts))["span_f1"] == 1.0
    assert gold.spans_known.tolist() == [True, False]


@pytest.mark.parametrize(("said", "flagged"), cases(__file__, "sentences"))
def test_sentences_are_matched_by_the_most_of_the_shorter_one(
    make_rows, make_verdict, said, flagged
):
    answer = "It is red. It is big."
    rows = make_rows(["FAIL"], answer=answer, spans=[[(6, 9)]])
    sentences = [Sentence(start=s, end=e, label="UNSUPPORTED") for s, e in said]
    sentences.append(Sentence(start=11, end=21, label="SUPPORTED"))
    verdict = make_verdict(0, "FAIL", sentences=tuple(sentences))
    found = estimates(Gold(rows).outcomes([verdict]))
    assert found["sentence_f1"] == pytest.approx(flagged)


def test_rows_that_no_judge_can_take_are_unscored_and_other_rows_refused(make_rows, make_verdict):
    bad = BenchmarkRow(1, "all", "FAIL", BadInput("empty_answer", "answer", "holds no text"))
    rows = [*make_rows(["PASS"]), bad]
    found = estimates(Gold(rows).outcomes([make_verdict(0, "PASS"), make_verdict(1, None)]))
    assert (found["accuracy"], found["recall"]) == (0.5, 0.0)
    gold = Gold(make_rows(["PASS", "FAIL"]))
    for ids in ([0], [1, 0], [0, 1, 2]):
        with pytest.raises(BenchmarkError, match="not those of the benchmark"):
            gold.outcomes([make_verdict(i, "PASS") for i in ids])
