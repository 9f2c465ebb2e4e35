"""RAGTruth: answers of six models to RAG prompts, with unsupported spans marked by people.

Niu et al., "RAGTruth: A Hallucination Corpus for Developing Trustworthy Retrieval-Augmented
Language Models" (ACL 2024), ParticleMedia/RAGTruth, MIT. The test split is test only. A row is FAIL
if people marked a span in it.

The files hold 2,529 of the 2,700 test answers: 165 clean ones (45 QA, 120 summaries) and 6
hallucinated summaries are missing. The split "train" holds the 391 answers to 66 sources of the
published train split that are available (no data-to-text), for validation.

A QA context is split into its three passages, each with its own "passage N:", which answers refer
to. A data-to-text context is one JSON object, as the answering model saw it, and a summary's is the
article.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from moonlynx.judge.contract.types import Score

from .base import About, Benchmark, BenchmarkRow, HubLoader, Loader, hash_files, make_row, read_text

_FILES = {
    "test": "ragtruth_test/ragtruth_test.jsonl.gz",
    "train": "ragtruth_train_part/ragtruth_train_part.jsonl.gz",
}
_MISSING_CLEAN = {"QA": 45, "Summary": 120}
_CAVEATS = {
    "test": (
        "The files hold 2,529 of the 2,700 published rows: 165 PASS rows (45 QA, 120 summaries) "
        "and 6 FAIL summaries are missing.",
        "Within data-to-text 64 % of the answers are FAIL, so knowing the task alone is worth much "
        "of the F1 over all rows: read the tasks apart.",
    ),
    "train": ("391 rows of the published train split, none of them data-to-text.",),
}
_PASSAGE = re.compile(r"^(?=passage \d+:)", re.MULTILINE)
_ABOUT = About(
    name="ragtruth",
    source="RAGTruth (Niu et al., ACL 2024), ParticleMedia/RAGTruth",
    licence="MIT",
    label_rule="FAIL if people marked an unsupported span in the answer, else PASS",
)


def _read(data: Path, split: str) -> Benchmark:
    is_test = split == "test"
    training = data / _FILES["train"]
    has_training = is_test and training.is_file()
    return Benchmark(
        _ABOUT,
        split,
        _rows(data / _FILES[split]),
        test_only=is_test,
        files=hash_files(data, [data / _FILES[split], *[training] * has_training]),
        caveats=_CAVEATS[split],
        missing_clean=_MISSING_CLEAN if is_test else {},
        training=partial(_rows, training) if has_training else tuple,
    )


def _rows(path: Path) -> tuple[BenchmarkRow, ...]:
    lines = read_text(path).split("\n")  # splitlines() would also split at U+2028 in a text
    answers = (read_answer(json.loads(line)) for line in lines if line)
    return tuple(_row(answer.key, answer) for answer in answers)


class Answer(NamedTuple):
    """An answer of RAGTruth."""

    key: str  # names the row
    source_id: str  # names its question and documents
    task: str  # as published
    question: str  # "" but for QA
    documents: tuple[str, ...]  # the passages of QA; else one text
    text: str  # the answer
    marks: Sequence[Mapping[str, Any]]  # what people marked in it, each with `start` and `end`
    generator: str  # the model that wrote it

    @property
    def is_qa(self) -> bool:
        """Return whether the answer is to a question."""
        return self.task == "QA"

    @property
    def label(self) -> Score:
        """Return FAIL if people marked a span."""
        return "FAIL" if self.marks else "PASS"

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Return the marked ranges."""
        return [(mark["start"], mark["end"]) for mark in self.marks]


def read_answer(raw: Mapping[str, Any]) -> Answer:
    """Read a row of the files."""
    return Answer(
        f"{raw['source_id']}-{raw['model']}",
        str(raw["source_id"]),
        raw["task_type"],
        raw["question"] or "",
        _documents(raw["task_type"], raw["context"]),
        raw["response"],
        raw["labels"],
        raw["model"],
    )


def read_hub_answer(raw: Mapping[str, Any]) -> Answer:
    """Read a row of wandb/RAGTruth-processed."""
    task = raw["task_type"]
    return Answer(
        raw["id"],
        raw["id"],
        task,
        # Elsewhere the query is the instruction, which is no question.
        raw["query"] if task == "QA" else "",
        _documents(task, raw["context"]),
        raw["output"],
        json.loads(raw["hallucination_labels"]),
        raw["model"],
    )


def _documents(task: str, context: str) -> tuple[str, ...]:
    if task != "QA":
        return (context,)
    return tuple(passage.strip() for passage in _PASSAGE.split(context) if passage.strip())


def _row(key: str | int, answer: Answer) -> BenchmarkRow:
    return make_row(
        "ragtruth",
        answer.task,
        key,
        answer.label,
        question=answer.question,
        context=answer.documents,
        answer=answer.text,
        spans=answer.spans,
        generator=answer.generator,
    )


def _hub_row(number: int, raw: Mapping[str, Any]) -> BenchmarkRow:
    answer = read_hub_answer(raw)
    return _row(answer.key or number, answer)


LOADER = Loader(_ABOUT, tuple(_FILES), _read)
HUB = HubLoader(
    About("wandb/RAGTruth-processed", _ABOUT.source, _ABOUT.licence, _ABOUT.label_rule),
    ("test", "train"),
    _hub_row,
    training="train",
)
