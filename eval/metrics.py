"""Metrics over weighted rows: one weight each gives the estimate, resampled weights its interval.

All are defined on FAIL, the class that a judge is there to find. A metric that the rows leave
undefined is NaN here and null in a report, never 0. An unscored row is wrong in accuracy and a miss
for its class.

scikit-learn has most of these, but for only one weighting of rows at a time; an interval needs a
thousand. The tests compare every metric here with scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bootstrap import Floats, draw_weights
from .outcomes import Indices, Outcomes

METRICS = {
    "accuracy": "share of rows judged as their gold says",
    "balanced_accuracy": "mean of the share of FAIL rows judged FAIL and of PASS rows judged PASS",
    "precision": "share of the rows judged FAIL that are FAIL",
    "recall": "share of the FAIL rows judged FAIL",
    "f1": "harmonic mean of precision and recall",
    "auroc": "chance that a FAIL row has a higher raw score than a PASS row, ties counting half",
    "average_precision": "mean precision over the FAIL rows, ranked by raw score",
    "false_alarms": "share of the PASS rows above the raw score that finds 70 % of the FAIL rows",
    "sentence_f1": "F1 of unsupported sentences, over all rows with gold spans",
    "span_f1": "F1 of unsupported characters, over all rows with gold spans",
    "faithfulness": "mean share of an answer's claims that are supported",
    "citation_recall": "mean share of an answer's claims that what they cite supports (ALCE)",
    "citation_precision": "mean share of an answer's citations that support their claim (ALCE)",
    "contradicted": "share of the unsupported sentences that the documents contradict",
    "ece": "expected calibration error of the probability, 15 bins of equal width",
    "brier": "mean squared error of the probability",
}
SHARES = ("faithfulness", "citation_recall", "citation_precision")
ECE_BINS = 15
FIXED_RECALL = 70  # percent


def weighted_metrics(outcomes: Outcomes, weights: Floats) -> dict[str, Floats]:
    """Return every metric of n rows under every weighting, `weights` of shape (b, n).

    For every name in `METRICS` an array of shape (b,), NaN where the metric is undefined.
    """
    decision = _decision(outcomes, weights)
    known = ~np.isnan(outcomes.raw_score)
    ranking = rank(outcomes.fail[known], outcomes.raw_score[known], weights[:, known])
    ece, brier = _calibration(outcomes, weights)
    nothing = np.full(len(weights), np.nan)
    return {
        **decision,
        **ranking._asdict(),
        "sentence_f1": (
            _overlap_f1(weights @ outcomes.sentences) if outcomes.gives_sentences else nothing
        ),
        # RAGTruth, section 5: overlap of characters, summed over all answers. Spans that overlap
        # each other count their characters once.
        "span_f1": _overlap_f1(weights @ outcomes.characters) if outcomes.gives_spans else nothing,
        **dict(zip(SHARES, _means(outcomes.shares, weights), strict=True)),
        "contradicted": _ratio(*(weights @ outcomes.kinds).T),
        "ece": ece,
        "brier": brier,
    }


def estimates(outcomes: Outcomes) -> dict[str, float]:
    """Return every metric of the rows as they are, NaN where it is undefined."""
    metrics = weighted_metrics(outcomes, np.ones((1, len(outcomes))))
    return {name: float(values[0]) for name, values in metrics.items()}


def resample(
    systems: Sequence[Outcomes], resamples: int, seed: Sequence[int]
) -> list[dict[str, Floats]]:
    """Return every metric of every system under the same draws of the rows.

    For each system and name in `METRICS` an array of shape (resamples,).
    """
    parts: list[list[dict[str, Floats]]] = [[] for _ in systems]
    for weights in draw_weights(len(systems[0]), resamples, np.random.default_rng(seed)):
        for collected, outcomes in zip(parts, systems, strict=True):
            collected.append(weighted_metrics(outcomes, weights))
    return [
        {name: np.concatenate([part[name] for part in collected]) for name in METRICS}
        for collected in parts
    ]


def _decision(outcomes: Outcomes, weights: Floats) -> dict[str, Floats]:
    fail, said = outcomes.fail, outcomes.said
    caught = weights @ (fail & (said == 1))
    alarms = weights @ (~fail & (said == 1))
    cleared = weights @ (~fail & (said == 0))
    fails, passes = weights @ fail, weights @ ~fail
    recall = _ratio(caught, fails)
    some_fail = np.where(fails > 0, 1.0, np.nan)
    return {
        "accuracy": _ratio(caught + cleared, fails + passes),
        "balanced_accuracy": (recall + _ratio(cleared, passes)) / 2,
        "precision": _ratio(caught, caught + alarms) * some_fail,
        "recall": recall,
        "f1": f1(caught, alarms, fails - caught) * some_fail,
    }


def f1(caught: Floats, alarms: Floats, missed: Floats) -> Floats:
    """Return the F1 of FAIL from counts of true alarms, false alarms and misses."""
    return _ratio(2 * caught, 2 * caught + alarms + missed)


class Ranking(NamedTuple):
    """How well scores rank positives first, each of shape (b,); NaN where a label is missing.

    `false_alarms` is the false-positive rate where recall is `FIXED_RECALL`, on straight lines
    between the points of the ROC curve.
    """

    auroc: Floats
    average_precision: Floats
    false_alarms: Floats


def rank(holds: NDArray[np.bool_], scores: Floats, weights: Floats) -> Ranking:
    """Rank scores, higher for rows that hold, under every weighting; ties count half.

    `holds` and `scores` are of shape (n,), `weights` of (b, n).
    """
    if not len(scores):
        nothing = np.full(len(weights), np.nan)
        return Ranking(nothing, nothing, nothing)
    order = np.argsort(-scores, kind="stable")
    scores, holds, weights = scores[order], holds[order], weights[:, order]
    ties = np.flatnonzero(np.concatenate([[True], scores[1:] != scores[:-1]]))
    positives = np.add.reduceat(weights * holds, ties, axis=1)
    negatives = np.add.reduceat(weights * ~holds, ties, axis=1)
    true, false = np.cumsum(positives, axis=1), np.cumsum(negatives, axis=1)
    all_true, all_false = true[:, -1], false[:, -1]
    above = (positives * (all_false[:, None] - false + negatives / 2)).sum(axis=1)
    precise = (positives * _ratio(true, true + false, 0.0)).sum(axis=1)
    both = np.where(all_false > 0, 1.0, np.nan)
    # The first tie to reach the recall, and the part of it that the recall takes.
    found = all_true * FIXED_RECALL / 100
    at = np.arange(len(weights)), np.argmax(true >= found[:, None], axis=1)
    part = _ratio(true[at] - found, positives[at])
    return Ranking(
        _ratio(above, all_true * all_false),
        _ratio(precise, all_true) * both,
        _ratio(false[at] - part * negatives[at], all_false),
    )


def auroc(holds: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return the AUROC of scores; None where all rows have one label."""
    labels, values = np.array(holds, dtype=bool), np.array(scores, dtype=np.float64)
    (found,) = rank(labels, values, np.ones((1, len(values)))).auroc.tolist()
    return None if np.isnan(found) else found


def _calibration(outcomes: Outcomes, weights: Floats) -> tuple[Floats, Floats]:
    known = ~np.isnan(outcomes.probability)
    probability = outcomes.probability[known]
    weights = weights[:, known]
    total = weights.sum(axis=1)
    gap = probability - outcomes.fail[known]
    bins = place_in_bins(probability)
    by_bin = np.zeros((len(probability), ECE_BINS))
    by_bin[np.arange(len(probability)), bins] = gap
    return (
        _ratio(np.abs(weights @ by_bin).sum(axis=1), total),
        _ratio(weights @ gap**2, total),
    )


def place_in_bins(probability: Floats) -> Indices:
    """Return the ECE's bin of each probability; 1 belongs to the last."""
    return np.minimum((probability * ECE_BINS).astype(np.intp), ECE_BINS - 1)


def _means(shares: Floats, weights: Floats) -> Iterator[Floats]:
    """Yield the mean of each column over the rows that have it, under every weighting."""
    for column in shares.T:
        known = ~np.isnan(column)
        yield _ratio(weights[:, known] @ column[known], weights[:, known].sum(axis=1))


def _overlap_f1(counts: Floats) -> Floats:
    """Return F1 from counts in both, said and gold, shape (b, 3); undefined without gold ones."""
    both, said, gold = counts.T
    return _ratio(2 * both, np.where(gold > 0, said + gold, 0.0))


def _ratio(numerator: Floats, denominator: Floats, undefined: float = np.nan) -> Floats:
    result: Floats = np.full(np.shape(denominator), undefined)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result
