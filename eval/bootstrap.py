"""Percentile bootstrap: rows are drawn again with replacement, and the metrics recomputed.

All systems see the same draws, so that differences between them are paired.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .intervals import LEVEL, Value

Floats = NDArray[np.float64]
_CELLS = 2_000_000  # rows x resamples held in memory at once


def draw_weights(n: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield, some at a time, how often each of n rows is drawn, shape (b, n)."""
    size = max(1, _CELLS // n)
    for start in range(0, resamples, size):
        b = min(size, resamples - start)
        cells = rng.integers(n, size=(b, n)) + n * np.arange(b)[:, None]
        counts = np.bincount(cells.ravel(), minlength=b * n)
        yield counts.reshape(b, n).astype(np.float64)


def draw_groups(groups: Sequence[str], resamples: int, seed: int) -> Floats:
    """Draw whole groups of rows; return how often each row counts, shape (resamples, rows)."""
    names, rows = np.unique(np.array(groups), return_inverse=True)
    draws = draw_weights(len(names), resamples, np.random.default_rng(seed))
    return np.concatenate([each[:, rows] for each in draws])


def interval(value: float, draws: Floats) -> Value:
    """Return a value with the middle 95 % of its draws; NaN becomes null."""
    if np.isnan(value):
        return Value(value=None, low=None, high=None)
    low, high = middle(draws)
    if np.isnan(low):
        return Value(value=value, low=None, high=None)
    return Value(value=value, low=low, high=high)


def middle(draws: Floats) -> tuple[float, float]:
    """Return the ends of the middle 95 % of draws; NaN where half of them are undefined."""
    defined = draws[~np.isnan(draws)]
    if not len(defined) or 2 * len(defined) < len(draws):
        return np.nan, np.nan
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)
