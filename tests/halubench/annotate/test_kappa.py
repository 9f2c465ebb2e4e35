import math

import numpy as np
import pytest

from moonlynx.halubench.annotate.kappa import (
    agreement,
    estimate,
    estimate_share,
    kappa,
    pairs_of_all,
    pairs_of_two,
    share_of_first,
)

# Fleiss (1971), table 1: 30 patients, each diagnosed by six psychiatrists; kappa is 0.430.
PATIENTS = (
    "444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444 124444 222333 "
    "144444 224445 333335 111455 111112 224444 133555 555555 244444 224555 114444 144445 222224 "
    "111155 224444 133333 555555"
)
# Two readers of 50 proposals: both yes 20, both no 15, only the first 5, only the second 10.
PROPOSALS = np.array([[0, 0]] * 20 + [[0, 1]] * 5 + [[1, 0]] * 10 + [[1, 1]] * 15)


def test_fleiss_own_table_and_cohens_kappa_by_hand():
    labels = np.array([[int(digit) - 1 for digit in patient] for patient in PATIENTS.split()])
    assert labels.shape == (30, 6)
    pairs = pairs_of_all(labels, 5).sum(axis=0)
    assert agreement(pairs) == pytest.approx(0.5556, abs=5e-5)
    assert kappa(pairs) == pytest.approx(0.430, abs=5e-4)
    pairs = pairs_of_two(PROPOSALS, 2).sum(axis=0)
    assert pairs.tolist() == [[20, 5], [10, 15]]
    assert agreement(pairs) == 0.7
    assert kappa(pairs) == pytest.approx(0.4)  # (0.7 - 0.5) / (1 - 0.5)
    # Fleiss' of two is Scott's pi: by chance 0.55² + 0.45².
    assert kappa(pairs_of_all(PROPOSALS, 2).sum(axis=0)) == pytest.approx((0.7 - 0.505) / 0.495)


def test_intervals_are_the_same_every_time_and_undefined_for_one_label():
    pairs = pairs_of_two(np.zeros((5, 2), dtype=np.int64), 2)
    found = estimate(kappa, pairs)
    assert math.isnan(found.value)
    assert math.isnan(found.low)
    assert estimate_share(agreement, pairs)[0] == 1
    found = estimate(kappa, pairs_of_two(PROPOSALS, 2))
    assert found == estimate(kappa, pairs_of_two(PROPOSALS, 2))
    # The large-sample standard error of this kappa is 0.126 (Fleiss, Cohen and Everitt, 1969).
    assert found.low == pytest.approx(0.4 - 1.96 * 0.126, abs=0.04)
    assert found.high == pytest.approx(0.4 + 1.96 * 0.126, abs=0.04)


def test_a_sure_share_has_the_exact_interval_and_sentences_of_one_row_are_drawn_together():
    all_of_ten = np.array([[1.0, 0.0]] * 10)
    assert estimate_share(share_of_first, all_of_ten) == pytest.approx((1, 0.6915, 1), abs=5e-5)
    assert estimate_share(share_of_first, all_of_ten[:, ::-1]) == pytest.approx(
        (0, 0, 1 - 0.6915), abs=5e-5
    )
    apart = np.array([[1.0, 0.0], [0.0, 1.0]] * 50)
    together = np.array([[5.0, 0.0], [0.0, 5.0]] * 10)  # as many items, in a fifth of the rows
    narrow, wide = (estimate_share(share_of_first, counts) for counts in (apart, together))
    assert narrow == pytest.approx((0.5, 0.4, 0.6), abs=0.02)
    assert wide.value == 0.5
    assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low)
