"""The answers of annotators to one question, as a table: an item a line, a rater a column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from moonlynx.eval.bootstrap import Floats
from moonlynx.judge.contract.types import Score, SentenceLabel

from .kappa import Labels
from .records import Annotation, Check

# Rates among the annotators with the rows' own labels; no annotator's name begins with a bracket.
FILE = "(file)"

# What is answered, with the place in the row that it is an answer for.
_Answers = Iterable[tuple[tuple[int, ...], str]]


class Question(NamedTuple):
    """What annotators are asked: once a row, or for each of its sentences."""

    title: str
    choices: Sequence[str]
    answers: Callable[[Annotation], _Answers]


def _checked(check: Check) -> Callable[[Annotation], _Answers]:
    def answers(annotation: Annotation) -> _Answers:
        answer: bool | None = getattr(annotation, check)
        if answer is not None:
            yield (), "yes" if answer else "no"

    return answers


ROW_LABEL = Question("Row label", get_args(Score), lambda one: [((), one.label)])
SENTENCES = Question(
    "Sentences",
    get_args(SentenceLabel),
    lambda one: [((s.start, s.end), s.label) for s in one.sentences],
)
HOLDS = Question("The perturbation holds", ("yes", "no"), _checked("perturbation_holds"))
RIGHT = Question("The reasoning is right", ("yes", "no"), _checked("reasoning_right"))


@dataclass(frozen=True)
class Ratings:
    """The answers to one question."""

    raters: tuple[str, ...]  # names of the columns
    labels: Labels  # shape (items, raters); numbers of choices, -1 where there is no answer
    # shape (items,); id and source of the row that an item is of
    rows: NDArray[np.str_]
    sources: NDArray[np.str_]

    def between(self, raters: Sequence[str]) -> Ratings:
        """Return the columns of these raters, for the items that they all rated."""
        labels = self.labels[:, [self.raters.index(name) for name in raters]]
        whole = Ratings(tuple(raters), labels, self.rows, self.sources)
        return whole._take(np.flatnonzero(np.all(labels >= 0, axis=1)))

    def by_source(self) -> Iterator[tuple[str, Ratings]]:
        """Yield all items, if any, then those of each source where there is more than one."""
        names = sorted(set(self.sources.tolist()))
        if names:
            yield "all", self
        for name in names if len(names) > 1 else ():
            yield name, self._take(np.flatnonzero(self.sources == name))

    def sum_by_row(self, counts: Floats) -> Floats:
        """Sum counts of items, shape (items, ...), by the row they are of: (rows, ...)."""
        names, of_item = np.unique(self.rows, return_inverse=True)
        sums: Floats = np.zeros((len(names), *counts.shape[1:]))
        np.add.at(sums, of_item, counts)
        return sums

    def _take(self, items: NDArray[np.intp]) -> Ratings:
        return Ratings(self.raters, self.labels[items], self.rows[items], self.sources[items])


def gather(question: Question, annotations: Sequence[Annotation]) -> Ratings:
    """Collect the answers to a question in a table; its last rater is the file itself.

    The file rates rows by their own labels, and answers nothing else.
    """
    given: dict[tuple[str, tuple[int, ...]], dict[str, str]] = defaultdict(dict)
    sources: dict[str, str] = {}
    for one in annotations:
        sources[one.id] = one.source
        for place, answer in question.answers(one):
            given[one.id, place][one.annotator] = answer
            if question is ROW_LABEL and one.row_label is not None:
                given[one.id, place][FILE] = one.row_label
    raters = (*sorted({one.annotator for one in annotations}), FILE)
    number = {choice: index for index, choice in enumerate(question.choices)}
    labels = [
        [number.get(answers.get(name, ""), -1) for name in raters] for answers in given.values()
    ]
    return Ratings(
        raters,
        np.array(labels, dtype=np.int64).reshape(len(given), len(raters)),
        np.array([row for row, _ in given], dtype=np.str_),
        np.array([sources[row] for row, _ in given], dtype=np.str_),
    )
