"""Values with their 95 % intervals, and those that need no draws; without numpy, for commands."""

from math import sqrt
from typing import NamedTuple

from moonlynx.judge.contract.types import Record

LEVEL = 0.95
Z = 1.959964  # of the two-sided 95 % interval


class Value(Record):
    """A metric with its 95 % interval; null where it is undefined.

    The interval is taken over the resamples in which the metric is defined, and is null where that
    is fewer than half of them.
    """

    value: float | None
    low: float | None
    high: float | None


class Interval(NamedTuple):
    """A share and its 95 % interval, all from 0 to 1."""

    share: float
    low: float
    high: float


def wilson(found: int, of: int) -> Interval:
    """Return a share with its 95 % score interval (Wilson, JASA 1927, page 209).

    Raises:
        ValueError: `of` is not positive.
    """
    if of < 1:
        raise ValueError("of: nothing was counted, so there is no share")
    share, square = found / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z * sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half))
