"""The cascade's frontier: the accuracy of two judges together, by the share of rows deferred.

The first judge defers the answers of which it is least sure: the same share of its PASS verdicts,
those of highest raw score, and of its FAIL verdicts, those of lowest. The share runs from none to
all. So no gold label has a part in what is deferred, and no point of the curve is chosen.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.contract.types import Record, Score

from .benchmarks import BenchmarkRow
from .bootstrap import Floats, draw_weights, interval
from .intervals import Value
from .outcomes import Outcomes
from .provenance import File, Provenance
from .records import Bootstrap

STEPS = 50
RECORDED = "recorded:"
NAMES = ("accuracy", "balanced_accuracy", "gain")


class Point(Record):
    """Two judges where a share of the rows is deferred."""

    handed_on: float  # the share deferred, in [0, 1]; rows of one raw score go together
    accuracy: Value  # a row left unscored is wrong
    balanced_accuracy: Value  # mean over the labels
    gain: Value  # accuracy less the average of deferring as many rows at random


class Frontier(Record):
    """The curve of two judges, from the first alone to the second alone."""

    first: str
    second: str
    points: tuple[Point, ...]


class FrontierReport(Provenance):
    """All of `frontier.json`; `files` are the verdicts of judges that were run."""

    schema_version: str = "1.0"
    benchmark: str
    split: str
    source: str
    test_only: bool
    rows: int
    fail_rows: int
    majority: Score
    majority_accuracy: Value
    rows_sha256: str
    bootstrap: Bootstrap
    files: tuple[File, ...]
    frontiers: tuple[Frontier, ...]


class Answers(NamedTuple):
    """The second judge's labels of n rows: 1 for FAIL, 0 for PASS, -1 for unscored, shape (n,)."""

    name: str
    said: NDArray[np.int8]


def recorded(rows: Sequence[BenchmarkRow], name: str) -> NDArray[np.int8]:
    """Return a published detector's label of each row, as in `Answers`.

    Raises:
        KeyError: no row has an answer of that detector.
    """
    if not any(name in row.recorded for row in rows):
        raise KeyError(name)
    said = {"FAIL": 1, "PASS": 0, None: -1}
    return np.array([said[row.recorded.get(name)] for row in rows], dtype=np.int8)


def draw_frontier(
    first_name: str, first: Outcomes, second: Answers, *, resamples: int, seed: int
) -> Frontier:
    """Return the curve with its intervals; every point sees the same draws of the rows."""
    doubt = unsureness(first)
    aimed = np.arange(STEPS + 1) / STEPS
    handed_on = doubt[:, None] < aimed
    alone, later = ~first.wrong, np.equal(second.said, first.fail)
    right = np.where(handed_on, later[:, None], alone[:, None]).astype(np.float64)
    found = _rates(right, handed_on, first.fail, np.ones((1, len(doubt))))
    weights = draw_weights(len(doubt), resamples, np.random.default_rng((seed, 4)))
    drawn = [_rates(right, handed_on, first.fail, each) for each in weights]
    draws = [np.concatenate(part) for part in zip(*drawn, strict=True)]
    points = [
        Point(
            handed_on=float(handed_on[:, step].mean()),
            **{
                name: interval(float(values[0, step]), sample[:, step])
                for name, values, sample in zip(NAMES, found, draws, strict=True)
            },
        )
        for step in range(len(aimed))
    ]
    return Frontier(first=first_name, second=second.name, points=tuple(points))


def unsureness(outcomes: Outcomes) -> Floats:
    """Rank rows by how unsure the judge is, in [0, 1), the most unsure first, shape (n,).

    PASS and FAIL are ranked apart. Rows of one raw score share their mean rank; a row without a
    score or raw score has -1: it is deferred whatever the share.
    """
    ranks = np.full(len(outcomes), -1.0)
    for said, sign in ((0, -1.0), (1, 1.0)):
        rows = (outcomes.said == said) & ~np.isnan(outcomes.raw_score)
        _, place, count = np.unique(
            sign * outcomes.raw_score[rows], return_inverse=True, return_counts=True
        )
        before = np.cumsum(count) - count
        ranks[rows] = ((before + (count - 1) / 2) / max(1, rows.sum()))[place]
    return ranks


def _rates(
    right: Floats, handed_on: NDArray[np.bool_], fail: NDArray[np.bool_], weights: Floats
) -> tuple[Floats, Floats, Floats]:
    # `right` and `handed_on` are of shape (n, points), `fail` of (n,), `weights` of (b, n); what is
    # returned, accuracy, balanced accuracy and gain, of (b, points).
    total = weights.sum(axis=1, keepdims=True)
    accuracy = weights @ right / total
    with np.errstate(invalid="ignore"):
        by_label = [
            (weights * rows) @ right / (weights * rows).sum(axis=1, keepdims=True)
            for rows in (fail, ~fail)
        ]
    share = weights @ handed_on / total
    by_chance = accuracy[:, :1] * (1 - share) + accuracy[:, -1:] * share
    return accuracy, (by_label[0] + by_label[1]) / 2, accuracy - by_chance
