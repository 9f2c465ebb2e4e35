"""Baselines: what the majority and the words alone predict.

All are fitted to the training rows and return P of every class, shape (rows, columns).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moonlynx.eval.bootstrap import Floats
from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.definition import MetricDefinition

from .data import LabelledInput
from .measure import Flags, flags_of

Rows = Sequence[LabelledInput]
Baseline = Callable[[MetricDefinition, Rows, Rows], Floats]
"""Fits to the first rows, and returns P for the others."""

_STRENGTH = 3.0  # inverse of the regressions' penalty
_FEATURES = 60_000  # of either kind, words and parts of words
_STEPS, _CLOSE = 500, 1e-3  # of the fit: as many at most, and when it ends


def majority(definition: MetricDefinition, training: Rows, rows: Rows) -> Floats:
    """Return for every row the shares of training."""
    shares = flags_of(definition, training).mean(axis=0)
    return np.tile(shares, (len(rows), 1))


def by_words(definition: MetricDefinition, training: Rows, rows: Rows) -> Floats:
    """Fit a regression to tf-idf of words, pairs of them and parts of words (2 to 5 letters).

    Where one text is judged beside another, it also has the cosine of the two, without which words
    alone could say nothing.
    """
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    shared: dict[str, Any] = {"sublinear_tf": True, "min_df": 2, "max_features": _FEATURES}
    union = make_union(
        TfidfVectorizer(ngram_range=(1, 2), **shared),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), **shared),
    )
    union.fit([_text(row.input) for row in training])

    def read(some: Rows) -> Any:
        table = union.transform([_text(row.input) for row in some])
        if definition.positive != "false":  # no text is judged beside another
            return table
        one = union.transform([row.input.input for row in some])
        other = union.transform([_beside(row.input) for row in some])
        cosine = np.asarray(one.multiply(other).sum(axis=1))
        return hstack([table, csr_matrix(cosine)]).tocsr()

    return _regress(definition, read(training), flags_of(definition, training), read(rows))


BASELINES: Mapping[str, Baseline] = {"majority": majority, "TF-IDF": by_words}


def _regress(definition: MetricDefinition, table: Any, gold: Flags, others: Any) -> Floats:
    """Fit a logistic regression and return P of every class for other rows."""
    probabilities = [
        fit_logistic(table, targets, _STRENGTH).predict_proba(others)
        if len(np.unique(targets)) > 1
        else np.tile([1.0 - targets[0], float(targets[0])], (others.shape[0], 1))
        for targets in targets_of(definition, gold)
    ]
    if definition.kind == "multi-class":
        found: Floats = np.zeros((others.shape[0], gold.shape[1]))
        found[:, np.unique(gold.argmax(axis=1))] = probabilities[0]
        return found
    if definition.kind == "multi-label":
        return np.stack([each[:, 1] for each in probabilities], axis=1)
    p = probabilities[0][:, 1]
    return np.stack([p if n == definition.positive else 1 - p for n in definition.classes], axis=1)


def fit_logistic(table: Any, targets: NDArray[Any], strength: float) -> Any:
    """Fit scikit-learn's logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=_STEPS, tol=_CLOSE).fit(table, targets)


def targets_of(definition: MetricDefinition, gold: Flags) -> list[NDArray[Any]]:
    """Return what each regression learns: the positive class, the class, or each label alone."""
    if definition.kind == "multi-class":
        return [gold.argmax(axis=1)]
    if definition.kind == "multi-label":
        return list(gold.T)
    assert definition.positive is not None
    return [gold[:, list(definition.classes).index(definition.positive)]]


def _text(one: MetricInput) -> str:
    tools = (f"{tool.get('name')} {tool.get('description')}" for tool in one.tools or ())
    return "\n".join((one.input, one.output, *(one.context or ()), *tools))


def _beside(one: MetricInput) -> str:
    return "\n".join((one.output, *(one.context or ())))
