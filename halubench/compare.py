"""Compare a built benchmark with the released one, row by row."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from moonlynx.eval.markdown import table
from moonlynx.judge.contract.types import BadInput, Score
from moonlynx.judge.rows.formats import read_raw

from .records import read_rows

_COLUMNS = ("id", "passage", "question", "answer", "label", "source_ds")
_KINDS = ("same row", "other label", "other answer", "question only", "not released")


class Released(NamedTuple):
    """A row of the released set."""

    id: str
    passage: str
    question: str
    answer: str
    label: Score
    source: str


def compare(path: Path, official: Path) -> str:
    """Report what became of each of our rows in the released set, by source, in Markdown.

    A row is the same one where question, context, answer and label are; letters and digits count.
    Of the others: the same except for the label; the same question and context with another answer;
    only the question. The last column counts released rows whose question we lack.

    Raises:
        BadInput: a file lacks a column or holds a row that cannot be read.
        MissingExtra: Parquet without pyarrow.
    """
    released = list(read_released(official))
    index = _Index(released)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    asked = set()
    for row in read_rows(path):
        asked.add(_plain(row.question))
        # As released, RAGTruth's passages and PubMedQA's sections are one text.
        context, answer = _plain(" ".join(row.context)), _plain(row.answer)
        found[row.source][index.kind(_plain(row.question), context, answer, row.label)] += 1
    lacking = Counter(row.source for row in released if _plain(row.question) not in asked)
    sources = [*found, *(name for name in lacking if name not in found)]
    counts = {
        name: (found[name].total(), *(found[name][kind] for kind in _KINDS), lacking[name])
        for name in sources
    }
    counts["all"] = tuple(map(sum, zip(*counts.values(), strict=True)))
    head = ("source", "rows", *_KINDS, "only released")
    return table(head, ((name, *numbers) for name, numbers in counts.items()), form="tight")


class _Index:
    """Released rows by what they share with others."""

    def __init__(self, released: Iterable[Released]) -> None:
        self._labels: dict[tuple[str, str, str], set[Score]] = defaultdict(set)
        self._contexts: dict[str, set[str]] = defaultdict(set)
        for row in released:
            question, context = _plain(row.question), _plain(row.passage)
            self._labels[question, context, _plain(row.answer)].add(row.label)
            self._contexts[question].add(context)

    def kind(self, question: str, context: str, answer: str, label: Score | None) -> str:
        """Return how closely the released set matches a row."""
        labels = self._labels.get((question, context, answer))
        if labels is not None:
            return "same row" if label in labels else "other label"
        if question not in self._contexts:
            return "not released"
        return "other answer" if context in self._contexts[question] else "question only"


def read_released(path: Path) -> Iterator[Released]:
    """Read the released set by its columns.

    Raises:
        BadInput: the file is damaged, lacks a column or has a label that is none.
        MissingExtra: Parquet without pyarrow.
    """
    for each in read_raw(path):
        where = f"{path}, {each.unit} {each.number}"
        try:
            raw = each.parse()
        except BadInput as error:
            raise BadInput(error.code, where, error.message) from None
        missing = [name for name in _COLUMNS if name not in raw]
        if missing:
            message = f"is missing; the released columns are {', '.join(_COLUMNS)}"
            raise BadInput("bad_input", f"{where}, {missing[0]}", message)
        if raw["label"] not in ("PASS", "FAIL"):
            raise BadInput("bad_input", f"{where}, label", f"{raw['label']!r} is not PASS or FAIL")
        passage = raw["passage"]
        yield Released(
            str(raw["id"]),
            passage if isinstance(passage, str) else " ".join(passage),
            raw["question"] or "",
            str(raw["answer"]),
            raw["label"],
            raw["source_ds"],
        )


def _plain(text: str) -> str:
    """Keep letters and digits: the released texts differ from their sources in white space."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
