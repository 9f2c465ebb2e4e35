"""The question sets of Luna's RAG QA data (section 4.1), by name.

All twelve are available together in RAGBench, one configuration each, with the documents that were
retrieved for each question. Its rows are answers, as a rule two a question; here each question
comes once, and the published answers and labels are ignored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import Documents, Id, MoonlynxError, Record, Text

HUB = "rungalileo/ragbench"  # CC BY 4.0, as a whole; its parts keep their own terms
SPLITS = ("train", "validation", "test")
_COLUMNS = ("id", "question", "documents")  # of RAGBench, the same in every configuration


class RagQaError(MoonlynxError):
    """A question set cannot be loaded; says what to do."""


class RagQuestion(Record):
    """A question with the documents that are to answer it; other fields of a row are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Id | None = None
    question: Text
    context: Documents
    source: Text | None = None

    @model_validator(mode="after")
    def _answerable(self) -> Self:
        if not any(document.strip() for document in self.context):
            raise PydanticCustomError("empty_context", "context holds no text")
        return self


@dataclass(frozen=True)
class Source:
    """A question set: title, domain (table 1), licence, and RAGBench's rows in each of SPLITS."""

    title: str
    domain: str
    licence: str
    answers: Sequence[int]


SOURCES: Mapping[str, Source] = {
    name: Source(**fields)
    for name, fields in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    ).items()
}


def load_rag_qa(name: str, split: str, folder: Path | None = None) -> list[RagQuestion]:
    """Load the questions of one source, each once, in their order.

    Rows without a question or without text in their documents are left out.

    Args:
        name: a name in SOURCES.
        split: one of SPLITS.
        folder: a copy of RAGBench, read instead of the Hub: a folder for each name, with JSONL or
            Parquet files whose names begin with the split's.

    Raises:
        RagQaError: no such source or split, or it is not available, or has other columns.
    """
    if name not in SOURCES:
        raise RagQaError(f"no question set is called {name!r}; known: {', '.join(SOURCES)}")
    if split not in SPLITS:
        raise RagQaError(f"{name} has no split {split!r}; it has {', '.join(SPLITS)}")
    questions: dict[tuple[str, tuple[str, ...]], RagQuestion] = {}
    for row in _rows(name, split, folder):
        question, context = row["question"] or "", tuple(row["documents"] or ())
        if question.strip() and any(document.strip() for document in context):
            found = RagQuestion(id=row["id"], question=question, context=context, source=name)
            questions.setdefault((question, context), found)
    return list(questions.values())


def _rows(name: str, split: str, folder: Path | None) -> Iterator[Mapping[str, Any]]:
    try:
        from datasets import load_dataset
        from datasets.exceptions import DatasetsError
    except ImportError:
        raise MissingExtra("Loading question sets", "data") from None
    place: Sequence[str] = (HUB, name) if folder is None else (str(folder / name),)
    shown = "/".join(place)
    try:
        dataset = load_dataset(*place, split=split)
    except (OSError, ValueError, DatasetsError) as error:
        advice = (
            "give a folder that holds a copy, or go online" if folder is None else "is it there?"
        )
        raise RagQaError(f"{shown}, {split}: cannot be loaded ({error}); {advice}") from error
    missing = set(_COLUMNS) - set(dataset.column_names)
    if missing:
        raise RagQaError(
            f"{shown} has no column {' and '.join(sorted(missing))}; "
            f"its columns are {', '.join(dataset.column_names)}. Was its layout changed?"
        )
    yield from dataset.select_columns(list(_COLUMNS))
