"""The policy of a cascade: which verdicts of its first judge are kept; the others are deferred.

A verdict is kept where the raw score is far enough on its side: PASS up to one score, FAIL from
another. Both are fitted on labelled rows, in one of two ways.

*Within a budget* (`fit_budget`): the two that make most rows right, with the second judge's own
verdicts on what is deferred, while the spending stays within the budget. What they got on the rows
they were fitted on is no estimate for others: it is the best of many.

*To a risk* (`fit_risk`): Learn then Test, as in `conformal`, once for each side. The labelled rows
and those judged later have to be independent draws of one distribution. Then, with probability
`confidence` over the draw of the labelled rows, both hold for later rows: of the PASS verdicts that
are kept at most a share `risk` is hallucinated, and of the FAIL verdicts kept at most a share
`risk` is not. Each side has half of the error allowed, so the two hold together. The shares are
over all answers (marginal): a kind of answer may have a higher one. Nothing is said of what is
deferred, of rows of another kind, or where one document has several answers, which are not
independent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import StringConstraints

from ..contract.types import (
    Count,
    Finite,
    JudgeInfo,
    MoonlynxError,
    Probability,
    Record,
    Score,
    Verdict,
)
from ..files.stored import load_record
from .conformal import fit_curve
from .cost import PriceTable, model_of

POLICY_VERSION: Literal["1.0"] = "1.0"
MIN_ROWS = 20
P95 = 0.05  # share of the rows that may take longer than the time of the budget `p95<=SECONDS`
Objective = Literal["accuracy", "balanced-accuracy"]
_BUDGET = re.compile(r"(share|money|p95)<=(\d+(?:\.\d+)?|\.\d+)")
Floats = NDArray[np.float64]
_SAID: dict[Score | None, int] = {"FAIL": 1, "PASS": 0, None: -1}
_CLOSE = 1e-9  # sums of the same numbers in another order are the same


class PolicyError(MoonlynxError, ValueError):
    """A policy that cannot be fitted, read or used with these judges."""


class Policy(Record):
    """Where the first judge's verdict is kept, for which judges, and what it was fitted on."""

    schema_version: Literal["1.0"] = POLICY_VERSION
    first: JudgeInfo  # the judge whose raw scores these are
    second: JudgeInfo | None  # the judge that gets the rest; null where it had no part in the fit
    pass_up_to: Finite | None  # the highest raw score at which PASS is kept; null: no PASS is
    fail_from: Finite | None  # the lowest raw score at which FAIL is kept; null: no FAIL is
    chosen_for: str  # what the two were chosen for
    rows: Count  # labelled rows they were fitted on
    fails: Count  # those of them labelled FAIL
    handed_on: Probability  # share of the rows that is deferred
    # of the cascade on the rows, at its best; null where the second judge had no part
    accuracy: Probability | None
    # hash of the labelled file
    data_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

    def keeps(self, verdict: Verdict) -> bool:
        """Return whether the first judge's verdict is kept; it needs a score and a raw score."""
        raw_score = verdict.raw_score
        if raw_score is None or verdict.score is None:
            return False
        if verdict.score == "PASS":
            return self.pass_up_to is not None and raw_score <= self.pass_up_to
        return self.fail_from is not None and raw_score >= self.fail_from

    def kept(self) -> str:
        """Return a short description of the verdicts that are kept."""
        sides = (("PASS to", self.pass_up_to), ("FAIL from", self.fail_from))
        named = [f"{side} {score:g}" for side, score in sides if score is not None]
        return ", ".join(named) or "none"

    def check(self, first: JudgeInfo, second: JudgeInfo) -> None:
        """Refuse other judges than those it was fitted for.

        Raises:
            PolicyError: names both.
        """
        pairs = (("first", self.first, first), ("second", self.second, second))
        for place, fitted, given in pairs:
            if fitted is not None and fitted != given:
                raise PolicyError(
                    f"the policy was fitted with {fitted.name} version {fitted.version} as "
                    f"{place} judge, this is {given.name} version {given.version}; fit one for "
                    "it with `moonlynx cascade`"
                )


class Budget(NamedTuple):
    """What may be spent, on average over the rows: `kind<=limit`.

    `share` of the rows deferred, in [0, 1]; `money` for 1,000 answers, in the price table's
    currency; `p95`, the seconds within which 95 % of the answers are judged.
    """

    kind: Literal["share", "money", "p95"]
    limit: float

    def __str__(self) -> str:
        return f"{self.kind}<={self.limit:g}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a budget.

        Raises:
            PolicyError: says how one is written.
        """
        match = _BUDGET.fullmatch(text)
        if match is None:
            raise PolicyError(
                f"{text!r} is no budget; write share<=S, money<=M (for 1,000 answers) or "
                "p95<=SECONDS, as in share<=0.2"
            )
        return cls(match[1], float(match[2]))  # type: ignore[arg-type]

    def spending(
        self,
        first: Sequence[Verdict],
        second: Sequence[Verdict],
        first_seconds: Sequence[float],
        second_seconds: Sequence[float],
        prices: PriceTable,
    ) -> Spending:
        """Return the cost of each of n rows in this budget's terms.

        Raises:
            PolicyError: a model has no price, or rows lack their time.
        """
        n = len(first)
        if self.kind == "share":
            return Spending(np.zeros(n), np.ones(n), self.limit)
        if self.kind == "money":
            alone, more = _money(first, prices), _money(second, prices)
            return Spending(alone, alone + more, self.limit / 1_000)
        if not len(first_seconds) == len(second_seconds) == n:
            raise PolicyError(
                "the times of some rows are missing, as after a run that was stopped; delete the "
                "verdicts and times beside the policy to start anew"
            )
        late = np.array(first_seconds) > self.limit
        late_by_both = np.add(first_seconds, second_seconds) > self.limit
        return Spending(late.astype(float), late_by_both.astype(float), P95)


class Rows(NamedTuple):
    """Labelled rows: n verdicts of the first judge, with the gold."""

    first: Sequence[Verdict]
    labels: Sequence[Score]
    data_sha256: str


class Spending(NamedTuple):
    """What a row costs, judged by the first alone and by both, shape (n,), and what it may cost.

    `allowed` is the mean over the rows.
    """

    alone: Floats
    both: Floats
    allowed: float


def fit_budget(
    rows: Rows,
    second: Sequence[Verdict],
    spending: Spending,
    *,
    objective: Objective,
    on_failure: str,
    budget: str,
) -> Policy:
    """Choose the two raw scores that make most rows right within the budget.

    Every pair that the rows can tell apart is tried; of equals, the one that spends least.

    Args:
        rows: the first judge's verdicts on the labelled rows.
        second: the second judge's, shape (n,).
        spending: what each row costs.
        objective: "accuracy", or "balanced-accuracy", in which both labels weigh the same.
        on_failure: as in `Cascade`: what a row counts as that the second judge leaves unscored.
        budget: the budget as it was asked for, for the record.

    Raises:
        PolicyError: too few rows, rows of one label only, or a budget that the first judge alone,
            or the rows it leaves unscored, exceed.
    """
    failed, said, scores = _arrays(rows)
    later = np.array([_SAID[verdict.score] for verdict in second])
    right = said == failed
    right_later = np.where((later < 0) & (on_failure == "keep"), right, later == failed)
    weights = np.ones(len(failed))
    if objective == "balanced-accuracy":
        weights = np.where(failed, 0.5 / failed.mean(), 0.5 / (1 - failed.mean()))
    gain = weights * (right_later.astype(float) - right)
    more = spending.both - spending.alone
    # Deferred whatever the two scores are.
    unsure = np.isnan(scores) | (said < 0)
    room = spending.allowed * len(failed) - float(spending.alone.sum() + more[unsure].sum())
    if room < -_CLOSE:
        raise PolicyError(
            f"the budget {budget} is too small: the first judge, with the rows that it leaves "
            "unscored, spends more"
        )
    passing, failing = (said == 0) & ~unsure, (said == 1) & ~unsure
    pass_up_to, fail_from = _best(
        _Side.of(scores[passing], gain[passing], more[passing], unsure_first=-1),
        _Side.of(scores[failing], gain[failing], more[failing], unsure_first=1),
        room,
    )
    policy, kept = _policy(rows, pass_up_to, fail_from, f"{objective} with {budget}")
    found = {
        "second": second[0].judge,
        "handed_on": float(1 - kept.mean()),
        "accuracy": float(np.where(kept, right, right_later).mean()),
    }
    return policy.model_copy(update=found)


def fit_risk(rows: Rows, *, risk: float, confidence: float) -> Policy:
    """Choose the two raw scores beyond which at most a share `risk` of the verdicts is wrong.

    Raises:
        PolicyError: a value is out of range, too few rows, or rows that can certify neither side.
    """
    for name, value in (("risk", risk), ("confidence", confidence)):
        if not 0 < value < 1:
            raise PolicyError(f"{name} must be above 0 and below 1, not {value:g}")
    failed, said, scores = _arrays(rows)
    known = ~np.isnan(scores)
    # Either side with half the error, so that both hold together.
    sure = 1 - (1 - confidence) / 2
    pass_up_to = _certify(scores, failed, known & (said == 0), risk, sure)
    fail_down_to = _certify(-scores, ~failed, known & (said == 1), risk, sure)
    if pass_up_to is None and fail_down_to is None:
        raise PolicyError(
            f"the {len(failed)} labelled rows cannot vouch for a risk of {risk:g} with "
            f"{100 * confidence:g} % confidence on either side; ask for a higher one, or give "
            "more rows"
        )
    fail_from = None if fail_down_to is None else -fail_down_to
    chosen_for = f"risk<={risk:g} with confidence {confidence:g}"
    return _policy(rows, pass_up_to, fail_from, chosen_for)[0]


def _policy(
    rows: Rows, pass_up_to: float | None, fail_from: float | None, chosen_for: str
) -> tuple[Policy, NDArray[np.bool_]]:
    """Return a policy without a second judge, and which of the rows it keeps."""
    policy = Policy(
        first=rows.first[0].judge,
        second=None,
        pass_up_to=pass_up_to,
        fail_from=fail_from,
        chosen_for=chosen_for,
        rows=len(rows.labels),
        fails=list(rows.labels).count("FAIL"),
        handed_on=0.0,
        accuracy=None,
        data_sha256=rows.data_sha256,
    )
    kept = np.array([policy.keeps(verdict) for verdict in rows.first])
    return policy.model_copy(update={"handed_on": float(np.mean(~kept))}), kept


def load_policy(path: Path) -> Policy:
    """Read a policy file.

    Raises:
        PolicyError: there is none, or it is not a policy that this version can read.
    """
    return load_record(path, Policy, PolicyError, "write it with `moonlynx cascade`")


class _Side(NamedTuple):
    """Gain and cost of deferring more and more rows of one side: none first, then the least sure.

    `edges` has the score up to, or from, which verdicts are still kept; None where none is.
    """

    gain: Floats
    spent: Floats
    edges: list[float | None]

    @classmethod
    def of(cls, scores: Floats, gain: Floats, spent: Floats, *, unsure_first: int) -> Self:
        """Sort by `unsure_first * score`, rising; rows of one score go together."""
        distinct, place = np.unique(unsure_first * scores, return_inverse=True)
        gains, spends = (
            np.concatenate([[0.0], np.cumsum(np.bincount(place, values, len(distinct)))])
            for values in (gain, spent)
        )
        kept = (unsure_first * distinct).tolist()
        # Midway between two scores.
        edges = [round((kept[max(i - 1, 0)] + kept[i]) / 2, 6) for i in range(len(kept))]
        return cls(gains, spends, [*edges, None])


def _money(verdicts: Sequence[Verdict], prices: PriceTable) -> Floats:
    costs = [prices.of(verdict) for verdict in verdicts]
    if None in costs:
        name = verdicts[costs.index(None)].judge.name
        raise PolicyError(
            f"the price table has no price for {model_of(name) or name}; add it to a copy and "
            "give that by --prices"
        )
    return np.array(costs, dtype=np.float64)


def _best(passes: _Side, fails: _Side, room: float) -> tuple[float | None, float | None]:
    """Return the two edges with the most gain that leaves room; of equals, what spends least."""
    best = (-np.inf, 0.0, 0, 0)
    for index, (gained, spent) in enumerate(zip(passes.gain, passes.spent, strict=True)):
        allowed = np.flatnonzero(spent + fails.spent <= room + _CLOSE)
        if not len(allowed):
            continue
        gains = (gained + fails.gain[allowed]).round(9)
        top = allowed[gains == gains.max()]
        other = int(top[np.argmin(fails.spent[top])])
        best = max(best, (gains.max(), -(spent + fails.spent[other]), index, other))
    return passes.edges[best[2]], fails.edges[best[3]]


def _certify(
    scores: Floats, wrong: NDArray[np.bool_], rows: NDArray[np.bool_], risk: float, sure: float
) -> float | None:
    if rows.sum() < MIN_ROWS:
        return None
    return fit_curve(scores[rows], wrong[rows]).certify(risk, confidence=sure, below=np.inf)


def _arrays(rows: Rows) -> tuple[NDArray[np.bool_], NDArray[np.int8], Floats]:
    """Return which rows are labelled FAIL, the verdicts on them, and the raw scores."""
    failed = np.array([label == "FAIL" for label in rows.labels])
    if len(failed) < MIN_ROWS:
        raise PolicyError(f"{len(failed)} labelled rows are too few; give at least {MIN_ROWS}")
    if failed.all() or not failed.any():
        raise PolicyError(f"all rows are labelled {rows.labels[0]}; give rows of both labels")
    scores = np.array([np.nan if v.raw_score is None else v.raw_score for v in rows.first])
    if np.isnan(scores).all():
        raise PolicyError(
            "no row has a raw score from the first judge; a chat judge has them only where its "
            "backend gives logprobs"
        )
    return failed, np.array([_SAID[verdict.score] for verdict in rows.first]), scores
