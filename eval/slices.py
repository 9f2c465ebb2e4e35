"""Parts of a benchmark that every report shows by themselves, and lengths against error.

Lengths are in tokens, estimated as one for every 4 bytes of UTF-8: judges count their own tokens
differently, and a slice has to hold the same rows for all of them.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import BadInput, Example, Record

from .benchmarks import BenchmarkRow
from .bootstrap import Floats
from .outcomes import Indices

Int64s = NDArray[np.int64]
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

    context: Int64s
    answer: Int64s
    whole: Int64s


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
    return _by_name([row.subset for row in rows])


def by_generator(rows: Sequence[BenchmarkRow]) -> list[Slice]:
    """Return the rows of each model that wrote answers, by name; none where there is only one."""
    parts = _by_name([row.generator for row in rows])
    return sorted(parts, key=lambda part: part.name) if len(parts) > 1 else []


def _by_name(given: Sequence[str]) -> list[Slice]:
    names = np.array(given)
    return [Slice(name, np.flatnonzero(names == name)) for name in dict.fromkeys(given)]


def measure(rows: Sequence[BenchmarkRow]) -> Lengths:
    """Estimate the tokens of every row."""
    parts = np.array([_lengths(row.example) for row in rows], dtype=np.int64).reshape(-1, 3)
    return Lengths(parts[:, 0], parts[:, 1], parts.sum(axis=1))


def _lengths(example: Example | BadInput) -> tuple[int, int, int]:
    if isinstance(example, BadInput):
        return 0, 0, 0
    return sum(map(_tokens, example.context)), _tokens(example.answer), _tokens(example.question)


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8")) // 4)


def by_context_length(lengths: Lengths) -> list[Slice]:
    """Split by the context's length as Luna does (table 4)."""
    names = ("under 5k tokens", "5k to 16k tokens", "over 16k tokens")
    return _split(lengths.context, names, (5_000, 16_001))


def by_answer_length(lengths: Lengths) -> list[Slice]:
    """Split by the answer's length."""
    names = ("under 50 tokens", "50 to 149 tokens", "150 to 299 tokens", "300 tokens and over")
    return _split(lengths.answer, names, (50, 150, 300))


def _split(lengths: Int64s, names: Sequence[str], edges: Sequence[int]) -> list[Slice]:
    place = np.digitize(lengths, edges)
    return [Slice(name, np.flatnonzero(place == number)) for number, name in enumerate(names)]


def scipy_stats() -> ModuleType:
    """Return `scipy.stats`.

    Raises:
        MissingExtra: scipy is not installed.
    """
    try:
        from scipy import stats
    except ImportError:
        raise MissingExtra("Reports and comparisons", "eval") from None
    return stats


def spearman(lengths: Int64s | Floats, errors: NDArray[np.bool_] | Floats) -> Correlation:
    """Correlate lengths with errors."""
    if len(np.unique(lengths)) < 2 or len(np.unique(errors)) < 2 or len(lengths) < 3:
        return Correlation(rho=None, p=None)
    result = scipy_stats().spearmanr(lengths, errors)
    return Correlation(rho=float(result.statistic), p=float(result.pvalue))


def length_bins(lengths: Int64s, wrong: NDArray[np.bool_]) -> list[LengthBin]:
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
