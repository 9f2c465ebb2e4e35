"""The floor: a logistic regression, or boosted trees, on alignment features."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.types import MoonlynxError

from .alignment import FEATURES

_FOLDS = 5
_STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3)  # inverse of the L2 penalty


class NotAnAlignmentModel(MoonlynxError, ValueError):
    """A file that holds no weights for the features of this version."""


@dataclass(frozen=True)
class Logistic:
    """A logistic regression on standardised features.

    Attributes:
        means, scales, weights: one per feature, shape (features,).
        intercept: log-odds of FAIL at the mean.
        threshold: of the probability; best F1 of FAIL on out-of-fold training rows.
    """

    means: NDArray[np.float64]
    scales: NDArray[np.float64]
    weights: NDArray[np.float64]
    intercept: float
    threshold: float

    def probability(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give P(FAIL) of each row, shape (rows,)."""
        logits = (table - self.means) / self.scales @ self.weights + self.intercept
        return np.asarray(1 / (1 + np.exp(-logits)))

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        columns = zip(FEATURES, self.means, self.scales, self.weights, strict=True)
        content = {
            "intercept": self.intercept,
            "threshold": self.threshold,
            "features": {
                name: {"mean": mean, "scale": scale, "weight": weight}
                for name, mean, scale, weight in columns
            },
        }
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Logistic:
        """Read what `save` wrote.

        Raises:
            NotAnAlignmentModel: the file's features are not those of this version.
        """
        content = json.loads(path.read_text(encoding="utf-8"))
        if tuple(content.get("features", ())) != FEATURES:
            raise NotAnAlignmentModel(f"{path}: its features are not `FEATURES`; fit it anew")
        means, scales, weights = (
            np.array([feature[key] for feature in content["features"].values()])
            for key in ("mean", "scale", "weight")
        )
        return cls(means, scales, weights, content["intercept"], content["threshold"])


@dataclass(frozen=True)
class Trees:
    """Boosted trees on the features: the same interface, but for saving.

    Attributes:
        model: scikit-learn's.
        threshold: as `Logistic.threshold`.
    """

    model: Any
    threshold: float

    def probability(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give P(FAIL) of each row, shape (rows,)."""
        return np.asarray(self.model.predict_proba(table)[:, 1])


def fit(table: NDArray[np.float64], fail: NDArray[np.bool_], groups: Sequence[str]) -> Logistic:
    """Fit a logistic regression; its penalty has the least out-of-fold log loss.

    Args:
        table: features, shape (rows, features).
        fail: which rows are FAIL, shape (rows,).
        groups: rows of one group share documents and are never in two folds.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import log_loss
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise MissingExtra("fitting the alignment floor", "eval") from None
    tried = []
    for strength in _STRENGTHS:
        logistic = LogisticRegression(C=strength, max_iter=5_000)
        model = make_pipeline(StandardScaler(), logistic)
        tried.append((model, _out_of_fold(model, table, fail, groups)))
    model, held_out = min(tried, key=lambda each: log_loss(fail, each[1]))
    scaler, logistic = (step for _, step in model.fit(table, fail).steps)
    return Logistic(
        scaler.mean_,
        scaler.scale_,
        logistic.coef_[0],
        float(logistic.intercept_[0]),
        best_f1(fail, held_out).threshold,
    )


def fit_trees(table: NDArray[np.float64], fail: NDArray[np.bool_], groups: Sequence[str]) -> Trees:
    """Fit boosted trees to the same.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise MissingExtra("fitting the alignment floor", "eval") from None
    model = HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=120, max_leaf_nodes=8, l2_regularization=5.0, random_state=0
    )
    held_out = _out_of_fold(model, table, fail, groups)
    return Trees(model.fit(table, fail), best_f1(fail, held_out).threshold)


def _out_of_fold(
    model: Any, table: NDArray[np.float64], fail: NDArray[np.bool_], groups: Sequence[str]
) -> NDArray[np.float64]:
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

    folds = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=0)
    found = cross_val_predict(model, table, fail, groups=groups, cv=folds, method="predict_proba")
    return np.asarray(found[:, 1])


class BestF1(NamedTuple):
    """The threshold that gives the highest F1 of FAIL, and that F1."""

    threshold: float
    f1: float


def best_f1(fail: NDArray[np.bool_], probability: NDArray[np.float64]) -> BestF1:
    """Find the threshold with the best F1 on rows; a row is FAIL where it reaches it."""
    thresholds = np.unique(probability)
    order = np.argsort(probability, kind="stable")
    below = np.searchsorted(probability[order], thresholds)
    flagged = len(fail) - below
    caught = fail.sum() - np.concatenate([[0], np.cumsum(fail[order])])[below]
    f1 = 2 * caught / (flagged + fail.sum())
    best = int(f1.argmax())
    return BestF1(float(thresholds[best]), float(f1[best]))
