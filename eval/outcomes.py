"""From rows and verdicts to arrays: what a judge said of each row, beside the gold.

Nothing is dropped: a row without a score stays in, as a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.contract.types import BadInput, Example, Score, Verdict
from moonlynx.judge.judges.cited import read_units
from moonlynx.judge.text import split_sentences

from .benchmarks import BenchmarkError, BenchmarkRow
from .bootstrap import Floats

Indices = NDArray[np.intp]
_Flags = NDArray[np.bool_]
_SAID: dict[Score | None, int] = {"FAIL": 1, "PASS": 0, None: -1}


@dataclass(frozen=True)
class Outcomes:
    """What was said of n rows."""

    fail: _Flags  # whether the gold label is FAIL, shape (n,)
    said: NDArray[np.int8]  # 1 for FAIL, 0 for PASS, -1 for unscored, shape (n,)
    raw_score: Floats  # higher = more hallucinated, NaN where there is none, shape (n,)
    probability: Floats  # of FAIL, in [0, 1], NaN where there is none, shape (n,)
    # of the answer in both gold and said spans, in said ones, in gold ones; shape (n, 3), zeros
    # where the gold spans are not known
    characters: Floats
    sentences: Floats  # the same of unsupported sentences
    # an answer's faithfulness, citation recall and citation precision, in [0, 1], NaN where there
    # is none, shape (n, 3)
    shares: Floats
    # its unsupported sentences that the documents contradict, and all those of which the judge
    # knows whether they do, shape (n, 2)
    kinds: Floats
    # whether any verdict of the whole run has a span; without one the judge is taken to mark none,
    # and it has no span F1
    gives_spans: bool
    gives_sentences: bool  # the same of sentences

    def __len__(self) -> int:
        return len(self.fail)

    @property
    def wrong(self) -> _Flags:
        """Return whether each row was not judged as its gold says, shape (n,)."""
        return np.not_equal(self.said, self.fail)

    def take(self, index: Indices) -> Outcomes:
        """Return the outcomes of some rows."""
        arrays = {name: each[index] for name, each in vars(self).items() if np.ndim(each)}
        return replace(self, **arrays)


class Gold:
    """The gold of a benchmark's rows, laid out once for all the judges that are compared with it.

    A sentence of an answer is unsupported in gold if it overlaps a gold span. The sentences are
    those of `split_sentences`, the same for every judge.
    """

    def __init__(self, rows: Sequence[BenchmarkRow]) -> None:
        self.rows = rows
        self.fail = np.array([row.label == "FAIL" for row in rows])
        self._answers = [_GoldAnswer.of(row) for row in rows]
        self.spans_known = np.array([answer is not None for answer in self._answers])

    def majority(self, rows: Indices | slice = slice(None)) -> Score:
        """Return the label that most of some rows have; PASS where they are as many."""
        return "FAIL" if 2 * self.fail[rows].sum() > len(self.fail[rows]) else "PASS"

    def outcomes(self, verdicts: Iterable[Verdict]) -> Outcomes:
        """Compare verdicts with the gold.

        Raises:
            BenchmarkError: the verdicts are not those of the rows, one for each, in their order.
        """
        listed = list(verdicts)
        if [verdict.id for verdict in listed] != [row.id for row in self.rows]:
            raise BenchmarkError("the verdicts are not those of the benchmark's rows, in order")
        counts = [
            (np.zeros(3), np.zeros(3)) if answer is None else answer.compare(verdict)
            for answer, verdict in zip(self._answers, listed, strict=True)
        ]
        return Outcomes(
            self.fail,
            np.array([_SAID[verdict.score] for verdict in listed], dtype=np.int8),
            _or_nan(verdict.raw_score for verdict in listed),
            _or_nan(verdict.probability for verdict in listed),
            np.array([characters for characters, _ in counts]),
            np.array([sentences for _, sentences in counts]),
            _shares(self.rows, listed),
            np.array([_kinds(verdict) for verdict in listed]),
            any(verdict.spans for verdict in listed),
            any(verdict.sentences for verdict in listed),
        )

    def constant(self, score: Score) -> Outcomes:
        """Return the outcomes of a judge that always says `score`, of every answer as a whole."""
        n, marked = len(self.rows), score == "FAIL"
        counts = [
            (np.zeros(3), np.zeros(3)) if answer is None else answer.count(marked, marked)
            for answer in self._answers
        ]
        return Outcomes(
            self.fail,
            np.full(n, _SAID[score], dtype=np.int8),
            np.zeros(n),
            np.full(n, np.nan),
            np.array([characters for characters, _ in counts]),
            np.array([sentences for _, sentences in counts]),
            np.full((n, 3), np.nan),
            np.zeros((n, 2)),
            marked,
            marked,
        )


@dataclass(frozen=True)
class _GoldAnswer:
    """An answer whose gold spans are known."""

    characters: _Flags  # whether each character is in a gold span
    pieces: list[tuple[int, int]]  # the ranges of the answer's sentences
    sentences: _Flags  # whether each sentence is unsupported

    @classmethod
    def of(cls, row: BenchmarkRow) -> _GoldAnswer | None:
        example = row.example
        if isinstance(example, BadInput) or example.spans is None:
            return None
        characters = _mask(len(example.answer), example.spans)
        pieces = [(piece.start, piece.end) for piece in split_sentences(example.answer)]
        sentences = np.array([bool(characters[start:end].any()) for start, end in pieces])
        return cls(characters, pieces, sentences)

    def compare(self, verdict: Verdict) -> tuple[Floats, Floats]:
        said = _mask(len(self.characters), verdict.spans)
        unsupported = [s for s in verdict.sentences if s.label == "UNSUPPORTED"]
        flagged = np.array(
            [any(_same(piece, (s.start, s.end)) for s in unsupported) for piece in self.pieces]
        )
        return self.count(said, flagged)

    def count(self, said: _Flags | bool, flagged: _Flags | bool) -> tuple[Floats, Floats]:
        """Count characters and sentences that are in both, said, in gold."""
        return _counts(said, self.characters), _counts(flagged, self.sentences)


def _shares(rows: Sequence[BenchmarkRow], verdicts: Sequence[Verdict]) -> Floats:
    """Return `Outcomes.shares`; where no answer cites anything, citations are not measured."""
    shares = np.full((len(rows), 3), np.nan)
    shares[:, 0] = _or_nan(verdict.faithfulness for verdict in verdicts)
    if any(verdict.citations for verdict in verdicts):
        for number, (row, verdict) in enumerate(zip(rows, verdicts, strict=True)):
            if isinstance(row.example, Example):
                shares[number, 1:] = citation_scores(row.example.answer, verdict)
    return shares


def _kinds(verdict: Verdict) -> tuple[float, float]:
    kinds = [one.kind for one in verdict.sentences if one.kind in ("contradicted", "not_mentioned")]
    return float(kinds.count("contradicted")), float(len(kinds))


def _same(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two splitters' sentences share over half of the shorter one's characters."""
    overlap = min(one[1], other[1]) - max(one[0], other[0])
    return 2 * overlap > min(one[1] - one[0], other[1] - other[0])


def _mask(length: int, ranges: Iterable[Any]) -> _Flags:
    mask = np.zeros(length, dtype=np.bool_)
    for item in ranges:
        mask[item.start : item.end] = True
    return mask


def _counts(said: _Flags | bool, gold: _Flags) -> Floats:
    marked = np.broadcast_to(said, gold.shape)
    return np.array([(marked & gold).sum(), marked.sum(), gold.sum()], dtype=np.float64)


def _or_nan(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values])


def citation_scores(answer: str, verdict: Verdict) -> tuple[float, float]:
    """Return an answer's citation recall and precision, in [0, 1], NaN where there is none.

    ALCE's definitions (Gao et al. 2023, "Enabling Large Language Models to Generate Text with
    Citations", arXiv 2305.14627, section 4), with the judge in the place of their NLI model.
    Recall is the share of the sentences claiming something that what they cite supports; without a
    citation that is none. Precision is the share of the citations that support their sentence, or
    are needed for it; those that do not exist do not, those of sentences without a claim are left
    out. As a judge that finds a sentence unsupported by all documents says so of its citations, a
    sentence counts as supported where one of its citations is.
    """
    if verdict.citations is None:
        return nan, nan
    found = {(one.start, one.end): one for one in verdict.citations if one.status == "supported"}
    units, whole = read_units(answer, verdict.sentences)
    recalled = [
        unit.label == "SUPPORTED"
        and any((mark.start, mark.end) in found for mark in unit.marks or whole)
        for unit in units
        if unit.label != "NO_INFO"
    ]
    checked = [one.status == "supported" for one in verdict.citations if one.status is not None]
    recall = sum(recalled) / len(recalled) if recalled else nan
    return recall, sum(checked) / len(checked) if checked else nan
