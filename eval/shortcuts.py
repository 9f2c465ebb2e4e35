"""Baselines that read no document: what an answer's words, or its writer, tell of its label.

Both are fitted to the benchmark's published training part and to nothing else. A judge that ranks
no better than they do may have learned the style of the models that wrote the answers.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from moonlynx.judge.contract.types import BadInput

from .benchmarks import BenchmarkRow
from .bootstrap import Floats
from .outcomes import Gold, Outcomes
from .records import TFIDF, WRITER

_FAIL_FROM = 0.5  # of P(FAIL)


def shortcuts(training: Sequence[BenchmarkRow], gold: Gold) -> dict[str, Outcomes]:
    """Return both baselines' outcomes; none where there are no training rows of both labels.

    Needs scikit-learn, of the same extra as the rest of a report.
    """
    if len({row.label for row in training}) < 2:
        return {}
    found = {TFIDF: _by_words(training, gold.rows), WRITER: _by_writer(training, gold.rows)}
    constant = gold.constant("PASS")
    return {
        name: replace(constant, said=(p >= _FAIL_FROM).astype(np.int8), raw_score=p)
        for name, p in found.items()
    }


def _by_words(training: Sequence[BenchmarkRow], rows: Sequence[BenchmarkRow]) -> Floats:
    """Return P(FAIL) by a logistic regression over words and pairs of them, shape (rows,)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2),
        LogisticRegression(C=10.0, class_weight="balanced", max_iter=1_000),
    )
    model.fit(list(map(_answer, training)), [row.label == "FAIL" for row in training])
    scores: Floats = model.predict_proba(list(map(_answer, rows)))[:, 1]
    return scores


def _by_writer(training: Sequence[BenchmarkRow], rows: Sequence[BenchmarkRow]) -> Floats:
    """Return the share of FAIL among the training answers of the row's model, shape (rows,)."""
    wrote = Counter(row.generator for row in training)
    failed = Counter(row.generator for row in training if row.label == "FAIL")
    overall = failed.total() / wrote.total()
    shares = {name: failed[name] / count for name, count in wrote.items()}
    # That of all stands for a model that wrote none of them.
    return np.array([shares.get(row.generator, overall) for row in rows])


def _answer(row: BenchmarkRow) -> str:
    return "" if isinstance(row.example, BadInput) else row.example.answer
