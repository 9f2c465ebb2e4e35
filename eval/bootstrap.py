"""Percentile bootstrap: rows are drawn again with replacement, and the metrics recomputed.

All systems see the same draws, so that differences between them are paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from moonlynx.judge.contract.types import Record

from .metrics import METRICS, weighted_metrics
from .outcomes import Floats, Outcomes

LEVEL = 0.95
_CELLS = 2_000_000  # rows x resamples held in memory at once


class Value(Record):
    """A metric with its 95 % interval; null where it is undefined.

    The interval is taken over the resamples in which the metric is defined, and is null where that
    is fewer than half of them.
    """

    value: float | None
    low: float | None
    high: float | None


def estimates(outcomes: Outcomes) -> dict[str, float]:
    """Return every metric of the rows as they are, NaN where it is undefined."""
    metrics = weighted_metrics(outcomes, np.ones((1, len(outcomes))))
    return {name: float(values[0]) for name, values in metrics.items()}


def resample(
    systems: Sequence[Outcomes], resamples: int, seed: Sequence[int]
) -> list[dict[str, Floats]]:
    """Return every metric of every system under the same draws of the rows.

    Args:
        systems: outcomes over the same n rows.
        resamples: number of draws b.
        seed: of the draws.

    Returns:
        For each system, for each name in `METRICS`, an array of shape (b,).
    """
    parts: list[list[dict[str, Floats]]] = [[] for _ in systems]
    for weights in draw_weights(len(systems[0]), resamples, np.random.default_rng(seed)):
        for collected, outcomes in zip(parts, systems, strict=True):
            collected.append(weighted_metrics(outcomes, weights))
    return [
        {name: np.concatenate([part[name] for part in collected]) for name in METRICS}
        for collected in parts
    ]


def interval(value: float, draws: Floats) -> Value:
    """Return a value with the middle 95 % of its draws; NaN becomes null."""
    if np.isnan(value):
        return Value(value=None, low=None, high=None)
    defined = draws[~np.isnan(draws)]
    if 2 * len(defined) < len(draws):
        return Value(value=value, low=None, high=None)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Value(value=value, low=float(low), high=float(high))


def draw_weights(n: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield, some at a time, how often each of n rows is drawn, shape (b, n)."""
    size = max(1, _CELLS // n)
    for start in range(0, resamples, size):
        b = min(size, resamples - start)
        cells = rng.integers(n, size=(b, n)) + n * np.arange(b)[:, None]
        counts = np.bincount(cells.ravel(), minlength=b * n)
        yield counts.reshape(b, n).astype(np.float64)
