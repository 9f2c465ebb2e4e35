from itertools import pairwise

import numpy as np
import pytest

from moonlynx.eval.benchmarks import BenchmarkRow
from moonlynx.eval.slices import (
    Lengths,
    by_answer_length,
    by_context_length,
    length_bins,
    measure,
    spearman,
)
from moonlynx.judge.contract.types import BadInput, Example


def test_context_slices_are_lunas_by_a_quarter_of_the_bytes():
    example = Example(question="abcd", context=("abcde", "日本"), answer="a")
    bad = BadInput("empty_answer", "answer", "holds no text")
    rows = [BenchmarkRow(1, "s", "PASS", example), BenchmarkRow(2, "s", "PASS", bad)]
    lengths = measure(rows)
    assert lengths.context.tolist() == [2 + 2, 0]
    assert lengths.answer.tolist() == [1, 0]
    assert lengths.whole.tolist() == [2 + 2 + 1 + 1, 0]
    lengths = np.array([4_999, 5_000, 16_000, 16_001])
    parts = by_context_length(Lengths(lengths, lengths, lengths))
    assert [part.rows.tolist() for part in parts] == [[0], [1, 2], [3]]


@pytest.mark.parametrize("split", [by_context_length, by_answer_length])
def test_every_row_is_in_exactly_one_slice(split):
    lengths = np.arange(0, 20_000)
    parts = split(Lengths(lengths, lengths, lengths))
    assert np.array_equal(np.concatenate([part.rows for part in parts]), lengths)


def test_spearman_of_a_rising_error_is_one_and_of_a_constant_null():
    rising = spearman(np.array([1, 2, 3, 4]), np.array([0.1, 0.2, 0.3, 0.9]))
    assert rising.rho == pytest.approx(1.0)
    # Ranks 1.5 1.5 3.5 3.5 against 1 2 3 4: 4 / (sqrt 4 x sqrt 5).
    errors = spearman(np.array([1, 2, 3, 4]), np.array([False, False, True, True]))
    assert errors.rho == pytest.approx(4 / np.sqrt(20))
    for constant in (spearman(np.ones(4), np.arange(4)), spearman(np.arange(4), np.ones(4))):
        assert (constant.rho, constant.p) == (None, None)


def test_bins_hold_as_many_rows_each_and_all_rows():
    rng = np.random.default_rng(0)
    lengths, wrong = rng.integers(1, 900, 103), rng.random(103) < 0.3
    bins = length_bins(lengths, wrong)
    assert len(bins) == 10
    assert {part.rows for part in bins} == {10, 11}
    assert sum(part.rows * part.wrong for part in bins) == pytest.approx(wrong.sum())
    assert all(one.high <= other.low for one, other in pairwise(bins))
    assert len(length_bins(lengths[:12], wrong[:12])) == 2
    assert len(length_bins(lengths[:3], wrong[:3])) == 1
