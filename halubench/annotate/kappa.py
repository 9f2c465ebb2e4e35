"""Agreement of raters, as a share and beyond chance, with intervals.

Every measure is taken of a table of pairs: how often one rater gave an item label j and the other
label l. Of two raters it is their table of counts, and `kappa` is Cohen's (1960, "A coefficient of
agreement for nominal scales"). Where every two of many raters are counted, in both orders, the
diagonal's share is the mean agreement of pairs and the margins are the labels' shares, so `kappa`
is Fleiss' (1971, "Measuring nominal scale agreement among many raters").
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.eval.bootstrap import Floats, draw_weights, middle

Labels = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]

_TAIL = 0.025  # on either side of an interval
_RESAMPLES = 2_000


class Estimate(NamedTuple):
    """A value with its 95 % interval; NaN where undefined."""

    value: float
    low: float
    high: float


def pairs_of_two(labels: Labels, k: int) -> Floats:
    """Count how two raters labelled each item.

    Args:
        labels: of shape (items, 2), each in [0, k).
        k: number of labels.

    Returns:
        Shape (items, k, k): the first's label by the second's.
    """
    given = _one_hot(labels, k)
    pairs: Floats = given[:, 0, :, None] * given[:, 1, None, :]
    return pairs


def pairs_of_all(labels: Labels, k: int) -> Floats:
    """Count how every two of many raters labelled each item, in both orders.

    Args:
        labels: of shape (items, raters), each in [0, k); at least two raters.
        k: number of labels.

    Returns:
        Shape (items, k, k).
    """
    counts = count_labels(labels, k)
    pairs: Floats = counts[:, :, None] * counts[:, None, :]
    return pairs - counts[:, :, None] * np.eye(k)  # no one is paired with themselves


def count_labels(labels: Labels, k: int) -> Floats:
    """Count how many of the raters, shape (items, raters), gave each label: (items, k)."""
    counts: Floats = _one_hot(labels, k).sum(axis=1)
    return counts


def agreement(pairs: Floats) -> Floats:
    """Return the share of pairs that agree, of tables of shape (..., k, k)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(pairs.trace(axis1=-2, axis2=-1) / pairs.sum(axis=(-2, -1)))


def kappa(pairs: Floats) -> Floats:
    """Return kappa, agreement beyond chance, of tables (..., k, k); NaN if all gave one label."""
    with np.errstate(invalid="ignore", divide="ignore"):
        total = pairs.sum(axis=(-2, -1))
        by_chance = (pairs.sum(axis=-1) * pairs.sum(axis=-2)).sum(axis=-1) / total**2
        return np.asarray((agreement(pairs) - by_chance) / (1 - by_chance))


def share_of_first(counts: Floats) -> Floats:
    """Return the first label's share of counts of shape (..., k)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(counts[..., 0] / counts.sum(axis=-1))


def estimate(statistic: Statistic, counts: Floats) -> Estimate:
    """Return a statistic of summed counts with its percentile bootstrap interval over rows.

    Rows are drawn, not items: the sentences of one answer are no independent witnesses. A value
    that is the same in all draws, or undefined in half of them, has no interval.

    Args:
        statistic: of sums, shape (draws, ...), to values, shape (draws,).
        counts: of each row, shape (rows, ...).
    """
    (value,) = statistic(counts.sum(axis=0, keepdims=True)).tolist()
    weights = draw_weights(len(counts), _RESAMPLES, np.random.default_rng(0))
    sums = (np.tensordot(each, counts, axes=1).astype(np.float64) for each in weights)
    draws = np.concatenate([statistic(each) for each in sums])
    if len(np.unique(draws[~np.isnan(draws)])) < 2:
        return Estimate(value, np.nan, np.nan)
    return Estimate(value, *middle(draws))


def estimate_share(statistic: Statistic, counts: Floats) -> Estimate:
    """Return a share with its interval: of 0 and 1 the exact one of as many rows.

    There the draws do not vary; the bounds are those of Clopper and Pearson (1934, "The use of
    confidence or fiducial limits illustrated in the case of the binomial").
    """
    found = estimate(statistic, counts)
    bound = _TAIL ** (1 / len(counts))
    if found.value == 1:
        return Estimate(1.0, bound, 1.0)
    return Estimate(0.0, 0.0, 1 - bound) if found.value == 0 else found


def _one_hot(labels: Labels, k: int) -> Floats:
    given: Floats = (labels[:, :, None] == np.arange(k)).astype(np.float64)
    return given
