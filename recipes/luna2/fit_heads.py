"""Fits a head on the encoder: one regression over words, one over states, and how they are joined.

The encoder is frozen. Both regressions are fitted to training rows; their shares and the thresholds
to validation rows, which neither has seen.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.eval.bootstrap import Floats
from moonlynx.judge.metrics.definition import MetricDefinition
from moonlynx.judge.metrics.encoder.features import BUCKETS, hash_words, unit_length
from moonlynx.judge.metrics.encoder.head import (
    EncoderHead,
    Scorer,
    Shares,
    StateWeights,
    WordWeights,
    join,
    pack,
)

from .baselines import fit_logistic, targets_of
from .features import FORMS, Read
from .measure import Flags, fit_thresholds, flags_of

VERSION = "4"
_WORD_STRENGTH = 3.0  # inverse of the penalty
_STATE_STRENGTHS = (0.001, 0.01, 0.1)  # of these the one with the least loss on validation rows
_RANK = 256  # directions of the states that the regression is fitted in
_NEVER = -8.0  # logit of a label that no training row has
_LEAST, _MOST = 0.0, 4.0  # of a share


class Linear(NamedTuple):
    """A regression's weights, shape (outputs, features), and bias, shape (outputs,)."""

    weights: Floats
    bias: Floats


class Projected(NamedTuple):
    """Numbers of rows in a few directions: `table` is (numbers - mean) / scale @ onto.T."""

    table: Floats
    onto: Floats
    mean: Floats
    scale: Floats


def fit_head(
    definition: MetricDefinition,
    encoder: str,
    layers: tuple[str, ...],
    training: Sequence[Read],
    validation: Sequence[Read],
) -> EncoderHead:
    """Fit a head to training rows with their first window, and validation rows with all of them.

    `encoder` is the encoder's version; `layers` are those whose states were pooled.
    """
    form = FORMS[definition.name]
    words = _fit_words(definition, training) if form == "text" else None
    projected, learned = _project(training), flags_of(definition, [each.row for each in training])
    gold = flags_of(definition, [read.row for read in validation])
    tried = []
    for strength in _STATE_STRENGTHS:
        states = _fit_states(definition, learned, projected, strength)
        head = EncoderHead(
            version=VERSION,
            metric=definition.name,
            kind=definition.kind,
            form=form,
            encoder=encoder,
            layers=layers,
            outputs=_outputs(definition),
            words=words,
            states=StateWeights(
                weights=pack(states.weights.astype(np.float16)),
                bias=tuple(round(float(b), 6) for b in states.bias),
            ),
            shares=Shares(),
        )
        loss, shares = _fit_shares(definition, head, validation, gold)
        tried.append((loss, strength, head.model_copy(update={"shares": shares})))
    head = min(tried, key=lambda each: each[0])[2]
    probabilities = score(definition, head, validation)
    return head.model_copy(update={"thresholds": fit_thresholds(definition, gold, probabilities)})


def score(definition: MetricDefinition, head: EncoderHead, rows: Sequence[Read]) -> Floats:
    """Return P of every class of rows whose windows are read, shape (rows, columns)."""
    scorer = Scorer(head)
    found = []
    for read in rows:
        windows = [
            scorer(numbers, hash_words(part.premise) if head.words is not None else None)
            for part, numbers in zip(read.parts, read.numbers, strict=True)
        ]
        found.append(_over_windows(definition, np.stack(windows)))
    return np.stack(found)


def _over_windows(definition: MetricDefinition, found: Floats) -> Floats:
    """Join windows as `EncoderMetric` does; shape (windows, outputs) to (columns,)."""
    if definition.kind != "boolean":
        return np.asarray(found.max(axis=0))
    windows = definition.windows
    keep = definition.positive if windows is None else windows.keep
    p = float(found.max() if keep == definition.positive else found.min())
    return np.array([p if name == definition.positive else 1 - p for name in definition.classes])


def _outputs(definition: MetricDefinition) -> tuple[str, ...]:
    if definition.kind == "boolean":
        assert definition.positive is not None
        return (definition.positive,)
    return tuple(definition.classes)


def _fit_words(definition: MetricDefinition, training: Sequence[Read]) -> WordWeights:
    """Fit the regression over hashed words; a bucket that one text alone has is left out."""
    from scipy.sparse import csr_matrix

    hashed = [hash_words(read.parts[0].premise) for read in training]
    starts = np.cumsum([0, *(len(each.buckets) for each in hashed)])
    columns = np.concatenate([each.buckets for each in hashed])
    seen = np.bincount(columns, minlength=BUCKETS)
    held = seen > 1
    idf = np.where(held, 1 + np.log((1 + len(training)) / (1 + np.maximum(seen, 1))), 0.0)
    idf = idf.astype(np.float16).astype(np.float32)  # as it will be read
    values = np.concatenate([unit_length(each, idf) for each in hashed])
    table = csr_matrix((values, columns, starts), shape=(len(training), BUCKETS))[:, held]
    gold = flags_of(definition, [read.row for read in training])
    found = _regress(definition, table, gold, _WORD_STRENGTH)
    scales = np.abs(found.weights).max(axis=1) / 127 + 1e-12
    return WordWeights(
        held=pack(np.packbits(held)),
        idf=pack(idf[held].astype(np.float16)),
        weights=pack(np.rint(found.weights / scales[:, None]).astype(np.int8)),
        scales=tuple(map(float, scales)),
        bias=tuple(round(float(b), 6) for b in found.bias),
    )


def _project(training: Sequence[Read]) -> Projected:
    """Standardise the numbers of the rows' first windows, and find what varies most among states.

    What is counted of a pair, and Luna's logit, is put beside these directions and weighs as much:
    a few numbers among thousands would else be lost.
    """
    from sklearn.utils.extmath import randomized_svd

    table = np.stack([read.numbers[0] for read in training])
    mean, scale = table.mean(axis=0, dtype=np.float64), table.std(axis=0, dtype=np.float64) + 1e-6
    table -= mean.astype(np.float32)
    table /= scale.astype(np.float32)
    counts = training[0].parts[0].counts
    counted = 1 + len(counts) if counts else 0
    width = table.shape[1] - counted
    rank = min(_RANK, len(table), width)
    _, sizes, directions = randomized_svd(table[:, :width], rank, random_state=0)
    onto = np.zeros((rank + counted, table.shape[1]))
    onto[:rank, :width] = directions
    for place in range(1, counted + 1):  # as large as the largest direction
        onto[-place, -place] = sizes[0] / math.sqrt(len(table))
    return Projected(table @ onto.T, onto, mean, scale)


def _fit_states(
    definition: MetricDefinition, gold: Flags, projected: Projected, strength: float
) -> Linear:
    """Fit the regression over states in the directions that vary most."""
    found = _regress(definition, projected.table, gold, strength)
    weights = found.weights @ projected.onto / projected.scale
    return Linear(weights, found.bias - weights @ projected.mean)


def _regress(definition: MetricDefinition, table: Any, gold: Flags, strength: float) -> Linear:
    parts = []
    for targets in targets_of(definition, gold):
        if len(np.unique(targets)) < 2:
            parts.append(Linear(np.zeros((1, table.shape[1])), np.array([_NEVER])))
            continue
        fitted = fit_logistic(table, targets, strength)
        parts.append(Linear(fitted.coef_, fitted.intercept_))
    return Linear(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _fit_shares(
    definition: MetricDefinition, head: EncoderHead, rows: Sequence[Read], gold: Flags
) -> tuple[float, Shares]:
    """Fit how the logits of the rows' first windows are joined; return log loss and shares."""
    from scipy.optimize import minimize

    alone = [Shares(states=1.0), Shares(words=1.0, states=0.0)]
    states, words = (_first_logits(head, shares, rows) for shares in alone)
    targets = gold[:, [list(definition.classes).index(name) for name in head.outputs]]

    def loss(x: NDArray[np.float64]) -> float:
        probabilities = join(definition.kind, x[0] * words + x[1] * states + x[2]).clip(
            1e-7, 1 - 1e-7
        )
        if definition.kind == "multi-class":
            return -float(np.log(probabilities[targets]).mean())
        return -float(np.where(targets, np.log(probabilities), np.log(1 - probabilities)).mean())

    bounds = [(_LEAST, _MOST if head.words is not None else _LEAST), (_LEAST, _MOST), (-3.0, 3.0)]
    start = [0.5 if head.words is not None else 0.0, 0.5, 0.0]
    found = minimize(loss, np.array(start), bounds=bounds, method="L-BFGS-B")
    fitted = [round(float(value), 4) for value in found.x]
    bias = 0.0 if definition.kind == "multi-class" else fitted[2]
    return float(found.fun), Shares(words=fitted[0], states=fitted[1], bias=bias)


def _first_logits(head: EncoderHead, shares: Shares, rows: Sequence[Read]) -> Floats:
    scorer = Scorer(head.model_copy(update={"shares": shares}))
    found = []
    for read in rows:
        words = hash_words(read.parts[0].premise) if head.words is not None else None
        found.append(scorer.logits(read.numbers[0], words))
    return np.stack(found)
