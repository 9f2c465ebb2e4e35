import numpy as np
import pytest
from scipy import stats

from moonlynx.eval.benchmarks import BenchmarkError
from moonlynx.eval.compare import Comparison, compare, render
from moonlynx.eval.provenance import File

from ..cases import cases

A, B = File(path="a.jsonl", sha256="0"), File(path="b.jsonl", sha256="1")


@pytest.fixture
def compared(make_verdict):

    def run(rows, a, b, resamples=200):
        files = []
        for file, said in ((A, a), (B, b)):
            verdicts = [
                make_verdict(row.id, score, **fields)
                for row, (score, fields) in zip(rows, said, strict=True)
            ]
            files.append((file, verdicts))
        return compare(rows, *files, resamples=resamples, seed=0)

    return run


def test_fixture_verdicts_compare_as_worked_out_by_hand(benchmark, judged):
    a, b = (judged(name, name) for name in ("scripted", "plain"))
    found = compare(benchmark.rows, (A, a.verdicts), (B, b.verdicts), resamples=500, seed=0)
    # A alone is right on w1; B alone on h6 and m2. Both are right on h1, h2, h3, h4, m1, m3, m4.
    assert (found.rows, found.fail_rows, found.unscored_a, found.unscored_b) == (12, 5, 2, 0)
    assert (found.mcnemar.only_a, found.mcnemar.only_b) == (1, 2)
    assert found.mcnemar.p == pytest.approx(1.0)
    accuracy = found.differences["accuracy"]
    assert (accuracy.a, accuracy.b) == pytest.approx((8 / 12, 9 / 12))
    assert accuracy.difference.value == pytest.approx(-1 / 12)
    assert accuracy.difference.low < -1 / 12 < accuracy.difference.high
    # B has no probabilities: ranks of the raw scores, where A has them too.
    assert (found.wilcoxon.error_of, found.wilcoxon.rows) == ("rank of raw_score", 10)
    # B's AUROC over those ten rows: h2 and m2 (.5) tie with h5 and w1.
    assert found.differences["auroc"].b == pytest.approx((2 * 5 + 2 * 6) / 24)
    assert Comparison.model_validate_json(found.model_dump_json()) == found
    text = render(found)
    assert text.startswith("- A: scripted 1, a.jsonl (2 unscored)\n")
    assert "12 rows, 5 of them FAIL." in text
    assert "| accuracy          | 66.7 | 75.0 |  -8.3 |" in text
    assert "| McNemar, exact                       |        1 |        2 |   12 | 1.000 |" in text


def test_tests_are_scipys(make_rows, compared):
    rng = np.random.default_rng(0)
    n = 60
    fail = rng.random(n) < 0.5
    rows = make_rows(["FAIL" if each else "PASS" for each in fail])
    probabilities = [
        np.clip(0.5 + (fail - 0.5) * k + rng.normal(0, 0.2, n), 0, 1) for k in (1, 0.3)
    ]
    said = [
        [("FAIL" if p >= 0.5 else "PASS", {"probability": p}) for p in each]
        for each in probabilities
    ]
    found = compared(rows, *said)
    right = [(each >= 0.5) == fail for each in probabilities]
    only_a, only_b = (right[0] & ~right[1]).sum(), (right[1] & ~right[0]).sum()
    assert (found.mcnemar.only_a, found.mcnemar.only_b) == (only_a, only_b)
    assert found.mcnemar.p == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue)
    errors = [np.abs(each - fail) for each in probabilities]
    assert found.wilcoxon.error_of == "probability"
    assert found.wilcoxon.p == pytest.approx(stats.wilcoxon(errors[0], errors[1]).pvalue)
    assert found.wilcoxon.a_nearer > found.wilcoxon.b_nearer
    assert found.differences["balanced_accuracy"].difference.low > 0


def test_a_judge_does_not_differ_from_itself_nor_by_the_scale_of_its_scores(make_rows, compared):
    rows = make_rows(["FAIL", "PASS", "FAIL", "PASS"])
    said = [("FAIL", {"raw_score": 0.9}), ("PASS", {"raw_score": 0.4})] * 2
    found = compared(rows, said, said)
    assert (found.mcnemar.p, found.wilcoxon.p) == (1.0, None)
    for each in found.differences.values():
        assert (each.difference.value, each.difference.low, each.difference.high) == (0, 0, 0)
    rows = make_rows(["FAIL", "PASS", "FAIL", "PASS", "PASS", "FAIL"])
    scores = [5.0, -3.0, 4.0, 0.0, 1.0, 9.0]
    a = [("FAIL", {"raw_score": each}) for each in scores]
    b = [("FAIL", {"raw_score": np.tanh(each / 20) / 1000}) for each in scores]
    found = compared(rows, a, b)
    assert (found.wilcoxon.a_nearer, found.wilcoxon.b_nearer, found.wilcoxon.p) == (0, 0, None)


def test_auroc_is_over_the_rows_that_both_rank_and_unscored_is_wrong(make_rows, compared):
    rows = make_rows(["FAIL", "PASS", "FAIL"])
    found = compared(rows, [("FAIL", {}), ("PASS", {}), (None, {})], [("FAIL", {})] * 3)
    assert (found.mcnemar.only_a, found.mcnemar.only_b) == (1, 1)
    assert (found.wilcoxon.error_of, found.wilcoxon.rows, found.wilcoxon.p) == (None, 0, None)
    assert found.differences["auroc"].difference.value is None
    assert "| AUROC             |    – |" in render(found)
    rows = make_rows(["FAIL", "PASS", "FAIL", "PASS"])
    a = [("FAIL", {"raw_score": s}) for s in (0.9, 0.1, 0.8, 0.2)]
    b = [("FAIL", {"raw_score": 0.9}), ("FAIL", {"raw_score": 0.1}), ("FAIL", {}), (None, {})]
    found = compared(rows, a, b)
    assert (found.differences["auroc"].a, found.differences["auroc"].b) == (1.0, 1.0)


def test_more_rows_than_were_judged_do_no_harm(make_rows, make_verdict):
    rows = make_rows(["FAIL", "PASS", "FAIL", "PASS"])
    verdicts = [make_verdict(2, "FAIL"), make_verdict(1, "PASS")]  # in any order
    found = compare(rows, (A, verdicts), (B, verdicts[::-1]), resamples=100, seed=0)
    assert (found.rows, found.differences["accuracy"].a) == (2, 1.0)


@pytest.mark.parametrize(("a", "b", "message"), cases(__file__, "other_rows"))
def test_files_on_other_rows_are_refused(make_rows, make_verdict, a, b, message):
    rows = make_rows(["FAIL", "PASS"])
    files = [(file, [make_verdict(i, "PASS") for i in ids]) for file, ids in ((A, a), (B, b))]
    with pytest.raises(BenchmarkError, match=message):
        compare(rows, *files, resamples=100, seed=0)
