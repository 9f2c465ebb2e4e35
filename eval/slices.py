"""Parts of a benchmark that every report shows by themselves, and lengths against error.

Lengths are in tokens, estimated as one for every 4 bytes of UTF-8: judges count their own tokens
differently, and a slice has to hold the same rows for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.contract.types import BadInput, Record

from .benchmarks import BenchmarkRow
from .bootstrap import Floats
from .extras import scipy_stats
from .outcomes import Indices

BINS = 10
_ROWS_PER_BIN = 5  # at least, so that a share means something


class Slice(NamedTuple):
    """Some rows of a benchmark, by their indices."""

    name: str
    rows: Indices


class Lengths(NamedTuple):
    """Estimated tokens of each row, each of shape (n,): 0 where a row cannot be read.

    `whole` counts question, context and answer: what a judge reads.
    """

    context: NDArray[np.int64]
    answer: NDArray[np.int64]
    whole: NDArray[np.int64]


class Correlation(Record):
    """Spearman's rank correlation, two-sided p-value; null where either side is constant."""

    rho: float | None
    p: float | None


class LengthBin(Record):
    """Rows of about the same length, and the share of them that was judged wrong."""

    low: int
    high: int
    rows: int
    wrong: float


def subsets(rows: Sequence[BenchmarkRow]) -> list[Slice]:
    """Return the benchmark's own subsets, in order of their first rows."""
    names = np.array([row.subset for row in rows])
    return [Slice(name, np.flatnonzero(names == name)) for name in dict.fromkeys(names.tolist())]


def measure(rows: Sequence[BenchmarkRow]) -> Lengths:
    """Estimate the tokens of every row."""
    context, answer, whole = [], [], []
    for row in rows:
        if isinstance(row.example, BadInput):
            parts = (0, 0, 0)
        else:
            example = row.example
            parts = (
                sum(_tokens(document) for document in example.context),
                _tokens(example.answer),
                _tokens(example.question),
            )
        context.append(parts[0])
        answer.append(parts[1])
        whole.append(sum(parts))
    return Lengths(np.array(context), np.array(answer), np.array(whole))


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8")) // 4)


def by_context_length(lengths: Lengths) -> list[Slice]:
    """Split by the context's length as Luna does (table 4)."""
    context = lengths.context
    return [
        Slice("under 5k tokens", np.flatnonzero(context < 5_000)),
        Slice("5k to 16k tokens", np.flatnonzero((context >= 5_000) & (context <= 16_000))),
        Slice("over 16k tokens", np.flatnonzero(context > 16_000)),
    ]


def by_answer_length(lengths: Lengths) -> list[Slice]:
    """Split by the answer's length."""
    answer = lengths.answer
    return [
        Slice("under 50 tokens", np.flatnonzero(answer < 50)),
        Slice("50 to 149 tokens", np.flatnonzero((answer >= 50) & (answer < 150))),
        Slice("150 to 299 tokens", np.flatnonzero((answer >= 150) & (answer < 300))),
        Slice("300 tokens and over", np.flatnonzero(answer >= 300)),
    ]


def spearman(
    lengths: NDArray[np.int64] | Floats, errors: NDArray[np.bool_] | Floats
) -> Correlation:
    """Correlate lengths with errors."""
    if len(np.unique(lengths)) < 2 or len(np.unique(errors)) < 2 or len(lengths) < 3:
        return Correlation(rho=None, p=None)
    result = scipy_stats().spearmanr(lengths, errors)
    return Correlation(rho=float(result.statistic), p=float(result.pvalue))


def length_bins(lengths: NDArray[np.int64], wrong: NDArray[np.bool_]) -> list[LengthBin]:
    """Return the error in up to ten bins of equal size, shortest first (RAGHalu, figure 2)."""
    order = np.argsort(lengths, kind="stable")
    return [
        LengthBin(
            low=int(lengths[part[0]]),
            high=int(lengths[part[-1]]),
            rows=len(part),
            wrong=float(wrong[part].mean()),
        )
        for part in np.array_split(order, min(BINS, max(1, len(order) // _ROWS_PER_BIN)))
    ]
