"""Which answers may be passed, so that few of those that are passed are hallucinated.

Learn then Test (Angelopoulos, Bates, Candès, Jordan and Lei 2021) with the selective risk of
Geifman and El-Yaniv (2017): P(FAIL | raw score <= t), the share of hallucinated answers among those
passed at a threshold t. Labelled rows are split at random. The first part proposes thresholds and
says of which one it is surest. The second tests from there upwards, one after the other, whether
the risk is at most what was asked for, by exact binomial p-values (one is at most the error
allowed where the Clopper-Pearson bound is at most the risk). Since the order does not depend on the
rows that test, no level is spent on a test that is passed (fixed-sequence testing): it goes on
until the first failure. A second sequence, downwards, has a small share of the error to itself. The
statement then holds for whatever threshold is taken among those that passed their tests, also one
below a threshold of FAIL that was fitted on the same rows.

The rows have to be independent draws of what will be judged. Several answers about one document are
not independent: the true confidence is then lower.
"""

import math
from itertools import count, takewhile
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ..contract.types import Count, Finite, Record, wrong

CONFIDENCE = 0.95
_PROPOSING = 0.25  # share of the rows; a quarter certified most answers in simulations
_THRESHOLDS = 100  # at most, which keeps the curve small beside the weights of a judge
_UPWARDS = 0.9  # share of the error that is spent on the way up
_SEED = 0


class RiskCurve(Record):
    """Counts of labelled rows at or below some raw scores, enough to certify any risk."""

    # the thresholds, rising: an answer at or below one may be passed
    raw_scores: tuple[Finite, ...] = Field(min_length=1)
    proposing_rows: tuple[Count, ...]  # rows of the proposing part at or below each threshold
    proposing_fails: tuple[Count, ...]  # those of them labelled FAIL
    testing_rows: tuple[Count, ...]  # rows of the testing part at or below each threshold
    testing_fails: tuple[Count, ...]  # those of them labelled FAIL

    @model_validator(mode="after")
    def _cumulative(self) -> Self:
        rows = self.proposing_rows, self.testing_rows
        fails = self.proposing_fails, self.testing_fails
        columns = (*rows, *fails)
        if {len(column) for column in columns} != {len(self.raw_scores)}:
            raise wrong("raw_scores and counts differ in length")
        if sorted(set(self.raw_scores)) != [*self.raw_scores]:
            raise wrong("raw_scores must rise")
        if any(sorted(column) != [*column] for column in columns):
            raise wrong("counts must not fall")
        if any(np.greater(some, whole).any() for some, whole in zip(fails, rows, strict=True)):
            raise wrong("more fails than rows")
        return self

    def certify(self, risk: float, *, confidence: float, below: float) -> float | None:
        """Return the highest raw score up to which answers may be passed.

        Args:
            risk: the share of hallucinated answers among those passed to stay within, in (0, 1).
            confidence: the probability, over draws of the labelled rows, that it does; in (0, 1).
            below: the threshold of FAIL: only raw scores below it are passed anyhow.

        Returns:
            None where no raw score below `below` can be certified.
        """

        # The p-values: how likely so few fails were if the risk were as high as `risk`.
        def proposed(index: int) -> float:
            return binomial_cdf(self.proposing_fails[index], self.proposing_rows[index], risk)

        def tested(index: int) -> float:
            return binomial_cdf(self.testing_fails[index], self.testing_rows[index], risk)

        thresholds, error = len(self.raw_scores), 1 - confidence
        # The surest proposal, of equals the highest.
        start = min(reversed(range(thresholds)), key=proposed)
        up, down = _UPWARDS * error, (1 - _UPWARDS) * error
        certified = [
            *takewhile(lambda index: tested(index) <= up, range(start, thresholds)),
            # The way down is for a threshold of FAIL that lies below the surest proposal.
            *takewhile(lambda index: tested(index) <= down, range(start - 1, -1, -1)),
        ]
        passed = [self.raw_scores[i] for i in certified if self.raw_scores[i] < below]
        return max(passed, default=None)

    def lowest_risk(self, above: float, *, confidence: float, below: float) -> float | None:
        """Return the lowest risk over `above`, in whole percent, that can be certified."""
        percents = range(math.floor(100 * above) + 1, 100)
        return next(
            (
                percent / 100
                for percent in percents
                if self.certify(percent / 100, confidence=confidence, below=below) is not None
            ),
            None,
        )


def fit_curve(raw_scores: NDArray[np.float64], failed: NDArray[np.bool_]) -> RiskCurve:
    """Split labelled rows, at least four, and count them; both arrays are of shape (n,)."""
    order = np.random.default_rng(_SEED).permutation(len(raw_scores))
    proposing, testing = np.split(order, [int(_PROPOSING * len(order))])
    levels = np.arange(1, _THRESHOLDS + 1) / _THRESHOLDS
    quantiles = np.quantile(raw_scores[proposing], levels, method="inverted_cdf")
    thresholds = np.unique(quantiles)

    def at_or_below(rows: NDArray[np.intp]) -> tuple[int, ...]:
        return tuple(np.searchsorted(np.sort(raw_scores[rows]), thresholds, side="right").tolist())

    return RiskCurve(
        raw_scores=tuple(thresholds.tolist()),
        proposing_rows=at_or_below(proposing),
        proposing_fails=at_or_below(proposing[failed[proposing]]),
        testing_rows=at_or_below(testing),
        testing_fails=at_or_below(testing[failed[testing]]),
    )


def rows_needed(risk: float, confidence: float) -> int:
    """Return the fewest labelled rows at or below a threshold that allow certification."""
    testing = math.ceil(math.log(_UPWARDS * (1 - confidence)) / math.log1p(-risk))
    return next(rows for rows in count(testing) if rows - int(_PROPOSING * rows) >= testing)


def stop_at_most(faithful: NDArray[np.float64], share: float) -> float | None:
    """Return the lowest threshold that stops at most a share of answers like these.

    A quantile of split conformal prediction (Vovk et al. 2005, as in Angelopoulos and Bates 2021,
    arXiv 2107.07511, section 1): the chance is over draws of the rows and of a later answer from
    one distribution.

    Returns:
        None where the rows are too few.
    """
    last = math.ceil((1 - share) * (len(faithful) + 1))  # rank of the last that is passed
    if last > len(faithful):
        return None
    return math.nextafter(float(np.sort(faithful)[last - 1]), math.inf)


def pass_at_most(hallucinated: NDArray[np.float64], share: float) -> float | None:
    """Return the highest threshold that passes at most a share of answers like these.

    As `stop_at_most`.
    """
    first = math.floor(share * (len(hallucinated) + 1))  # rank of the first that is stopped
    return float(np.sort(hallucinated)[first - 1]) if first else None


def binomial_cdf(successes: int, trials: int, p: float) -> float:
    """Return P(at most so many successes), p in (0, 1); without scipy, which judging does not need.

    The terms are summed from their logarithms, each from the one before it.
    """
    if successes >= trials:
        return 1.0
    k = np.arange(1, successes + 1)
    steps = np.log((trials - k + 1) / k) + (math.log(p) - math.log1p(-p))
    terms = trials * math.log1p(-p) + np.concatenate([[0.0], np.cumsum(steps)])
    return min(1.0, float(np.exp(terms).sum()))
