"""Thresholds by the number of an answer's claims.

Each of several claims may be in doubt a little, and doubts add up: one threshold for all lengths
stops most long faithful answers, or passes what is wrong with short ones. `guard` and `audit` are
quantiles of split conformal prediction within a band of lengths (Mondrian conformal prediction,
Vovk et al. 2005, chapter 4). `balanced` has too few rows for a band of its own: its log-odds rise
by a line in the logarithm of the number of claims, fitted as a logistic regression of the label on
raw score and length, with rows weighted by the inverse of the probability that the length alone
gives their label. That long answers are hallucinated more often is no reason to stop one.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Protocol, Self, get_args, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, StrictInt, model_validator

from ..contract.types import Count, Finite, Record, Verdict, wrong
from .conformal import pass_at_most, stop_at_most

Preset = Literal["guard", "balanced", "audit"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
BANDS = (1, 2, 4, 8)  # claims: some hundred validation rows in each of the shorter, 80 in the last
LEAST = 20  # rows of either label in a band
_FOLDS = 10
_SEED = 0
_EDGE = 1e-4  # of raw scores, which have four decimals


@dataclass(frozen=True)
class Threshold:
    """A threshold on raw scores by the number of claims."""

    claims: tuple[int, ...]  # with which each band begins, rising from 1
    values: tuple[float, ...]  # the threshold of each band

    def at(self, claims: int) -> float:
        """Return the threshold of an answer of so many claims."""
        return self.values[max(0, bisect_right(self.claims, claims) - 1)]


@runtime_checkable
class DecidesByLength(Protocol):
    """A judge that reads claim by claim, with raw scores in [0, 1]."""

    def deciding(self, threshold: Threshold) -> Self:
        """Return the same judge with another threshold."""


class Band(Record):
    """The thresholds of answers of at least `claims` claims, up to the next band's."""

    claims: Annotated[StrictInt, Field(ge=1)]
    guard: Finite
    balanced: Finite
    audit: Finite


class Cost(Record):
    """What the presets cost in a band of lengths, on documents that they were not fitted to."""

    claims: Count  # with which the band begins
    # rows of the band by label
    passes: Count
    fails: Count
    stopped: dict[Preset, Count]  # the faithful rows that a preset calls FAIL, by preset
    found: dict[Preset, Count]  # the hallucinated rows that a preset calls FAIL, by preset


class ByLength(Record):
    """Thresholds of the three presets by the number of claims, and what they cost."""

    bands: tuple[Band, ...] = Field(min_length=1)
    costs: tuple[Cost, ...]

    @model_validator(mode="after")
    def _rising(self) -> Self:
        starts = [band.claims for band in self.bands]
        if starts[0] != 1 or any(a >= b for a, b in pairwise(starts)):
            raise wrong("bands must begin at 1 claim and rise")
        return self

    def threshold(self, preset: Preset) -> Threshold:
        """Return the threshold of a preset."""
        return Threshold(
            tuple(band.claims for band in self.bands),
            tuple(getattr(band, preset) for band in self.bands),
        )


class Lengths(NamedTuple):
    """What a fit by length needs to know of each row."""

    # how many claims its raw score is made of; of verdicts, with those that are said again
    claims: Sequence[int]
    groups: Sequence[str]  # rows of one group share a document, and are on one side of a fold

    @classmethod
    def of(cls, verdicts: Sequence[Verdict], groups: Sequence[str]) -> Lengths:
        """Return those of verdicts, whose sentences are the claims."""
        claims = [
            sum(sentence.raw_score is not None for sentence in verdict.sentences)
            for verdict in verdicts
        ]
        return cls(claims, groups)


class Rows(NamedTuple):
    """Labelled rows to fit to, each of at least one claim, all of shape (rows,)."""

    scores: NDArray[np.float64]  # raw scores, in [0, 1]
    failed: NDArray[np.bool_]  # which rows are labelled FAIL
    claims: NDArray[np.int64]  # how many claims each has

    def some(self, chosen: NDArray[Any]) -> Rows:
        """Return the rows at these places."""
        return Rows(*(column[chosen] for column in self))


# Returns the threshold with the best balanced accuracy from scores and which of them FAIL.
Balance = Callable[[NDArray[np.float64], NDArray[np.bool_]], float]


def fit_by_length(
    rows: Rows, groups: Sequence[str], balance: Balance, missed: float
) -> ByLength | None:
    """Fit thresholds by length, and count what they cost by cross-validation.

    Args:
        rows: to fit to.
        groups: of each row, as in `Lengths`.
        balance: chooses the threshold of `balanced` on scores that are rid of the length.
        missed: share of faithful rows that `guard` stops, of hallucinated ones `audit` passes.

    Returns:
        None where no band has `LEAST` rows of either label.
    """
    starts = _starts(rows)
    if not starts:
        return None
    bands = _fit_bands(rows, starts, balance, missed)
    names, place = np.unique(np.array(groups), return_inverse=True)
    fold = np.random.default_rng(_SEED).permutation(len(names))[place] % _FOLDS
    failing = {preset: np.zeros(len(fold), dtype=bool) for preset in PRESETS}
    for number in range(_FOLDS):
        held, rest = fold == number, rows.some(fold != number)
        fitted = ByLength(bands=_fit_bands(rest, _starts(rest), balance, missed), costs=())
        for preset, fails in failing.items():
            at = fitted.threshold(preset).at
            bars = np.array([at(claims) for claims in rows.claims[held].tolist()])
            fails[held] = rows.scores[held] >= bars
    return ByLength(bands=bands, costs=tuple(_costs(rows, starts, failing)))


def _starts(rows: Rows) -> list[int]:
    """Return where the bands begin; one with too few rows of a label joins the one before it."""
    starts: list[int] = []
    for start, end in pairwise((*BANDS, sys.maxsize)):
        inside = rows.failed[(rows.claims >= start) & (rows.claims < end)]
        if min(inside.sum(), (~inside).sum()) >= LEAST:
            starts.append(start)
    return [1, *starts[1:]] if starts else []


def _fit_bands(
    rows: Rows, starts: Sequence[int], balance: Balance, missed: float
) -> tuple[Band, ...]:
    from sklearn.isotonic import IsotonicRegression

    logs = np.log(rows.claims)
    slope = _slope(rows, logs)
    level = balance(log_odds(rows.scores) - slope * logs, rows.failed)
    band = np.searchsorted(starts, rows.claims, side="right") - 1
    found = []
    for number in range(len(starts)):
        own = rows.some(band == number)
        middle = level + slope * float(logs[band == number].mean())
        guard = stop_at_most(own.scores[~own.failed], missed)
        audit = pass_at_most(own.scores[own.failed], missed)
        found.append((guard, 1 / (1 + math.exp(-middle)), audit))
    # Pooled where a longer band has a lower quantile, as one of few rows may.
    smooth = IsotonicRegression().fit_transform
    order, weights = np.arange(len(starts)), np.bincount(band)
    columns = [
        smooth(order, np.array(column), sample_weight=weights)
        for column in zip(*found, strict=True)
    ]
    return tuple(
        Band(claims=start, guard=guard, balanced=balanced, audit=audit)
        for start, guard, balanced, audit in zip(
            starts, *(column.round(6).tolist() for column in columns), strict=True
        )
    )


def _slope(rows: Rows, logs: NDArray[np.float64]) -> float:
    """Return what the log-odds of `balanced` rise by with the logarithm of the claims."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=100)
    by_length = model.fit(logs[:, None], rows.failed).predict_proba(logs[:, None])
    weights = 1 / by_length[np.arange(len(logs)), rows.failed.astype(int)]
    read = np.stack([log_odds(rows.scores), logs], axis=1)
    score, length = model.fit(read, rows.failed, sample_weight=weights / weights.mean()).coef_[0]
    return max(0.0, float(-length / score))


def log_odds(scores: ArrayLike) -> NDArray[np.float64]:
    """Return log(p / (1 - p)) of scores in [0, 1], finite at both ends."""
    inside = np.clip(np.asarray(scores, dtype=np.float64), _EDGE, 1 - _EDGE)
    return np.log(inside / (1 - inside))


def _costs(
    rows: Rows, starts: Sequence[int], failing: Mapping[Preset, NDArray[np.bool_]]
) -> Iterator[Cost]:
    band = np.searchsorted(starts, rows.claims, side="right") - 1
    for number, start in enumerate(starts):
        passes, fails = (band == number) & ~rows.failed, (band == number) & rows.failed
        yield Cost(
            claims=start,
            passes=int(passes.sum()),
            fails=int(fails.sum()),
            stopped={preset: int((passes & found).sum()) for preset, found in failing.items()},
            found={preset: int((fails & found).sum()) for preset, found in failing.items()},
        )
