"""How verdicts change over time: the PASS rate and the mean probability of each day or week.

The share has Wilson's 95 % interval, the mean the normal one of its standard error. Where a judge
stayed the same and two periods' intervals are disjoint, the answers or the documents moved.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from itertools import groupby
from math import sqrt
from typing import Literal

from moonlynx.eval.intervals import Z, wilson
from moonlynx.judge.contract.types import Count, Finite, JudgeInfo, Probability, Record

from .database import Day

Step = Literal["day", "week"]


class Estimate(Record):
    """A value with its 95 % interval."""

    value: Probability
    low: Finite
    high: Finite


class Period(Record):
    """A judge's verdicts of a day or week."""

    judge: JudgeInfo
    start: date  # its first day, in UTC; of a week, its Monday
    verdicts: Count
    unscored: Count
    pass_rate: Estimate | None  # of the scored verdicts; None where there are none
    # Mean P(hallucinated); None where fewer than two verdicts have one.
    probability: Estimate | None


def periods(days: Iterable[Day], step: Step) -> list[Period]:
    """Join days to periods, by judge and then by time."""

    def key(day: Day) -> tuple[str, str, date]:
        start = day.day - timedelta(days=day.day.weekday() if step == "week" else 0)
        return day.judge, day.version, start

    return [
        _period(JudgeInfo(name=name, version=version), start, group)
        for (name, version, start), group in groupby(sorted(days, key=key), key)
    ]


def _period(judge: JudgeInfo, start: date, days: Iterable[Day]) -> Period:
    figures = (day[3:] for day in days)
    verdicts, scored, passed, count, total, squares = map(sum, zip(*figures, strict=True))
    rate = None
    if scored:
        share, low, high = wilson(passed, scored)
        rate = Estimate(value=share, low=low, high=high)
    return Period(
        judge=judge,
        start=start,
        verdicts=verdicts,
        unscored=verdicts - scored,
        pass_rate=rate,
        probability=_mean(count, total, squares),
    )


def _mean(count: int, total: float, squares: float) -> Estimate | None:
    if count < 2:
        return None
    mean = min(1.0, total / count)
    variance = max(0.0, squares - count * mean * mean) / (count - 1)
    half = Z * sqrt(variance / count)
    return Estimate(value=mean, low=max(0.0, mean - half), high=min(1.0, mean + half))
