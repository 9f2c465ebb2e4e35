"""The question sets of Luna's RAG QA data (section 4.1).

All twelve are available together in RAGBench, one configuration each, with the documents that were
retrieved for each question. Its rows are answers, as a rule two a question; here each question
comes once, and the published answers and labels are ignored.
"""

from pathlib import Path
from typing import Self

from pydantic import ConfigDict, model_validator

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.eval.benchmarks.ragbench import HUB
from moonlynx.judge.contract.types import Documents, Example, Id, Record, Text, wrong


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
            raise wrong("context holds no text", "empty_context")
        return self


def load_rag_qa(name: str, split: str, folder: Path | None = None) -> list[RagQuestion]:
    """Load the questions of one source, each once, in their order.

    Rows without a question or without text in their documents are left out.

    Args:
        name: of one of RAGBench's configurations, as techqa.
        split: train, validation or test.
        folder: a copy of RAGBench, read instead of the Hub: a folder for each name, with JSONL or
            Parquet files whose names begin with the split's.

    Raises:
        BenchmarkError: no such source or split, or it is not available, or has other columns.
    """
    questions: dict[tuple[str, tuple[str, ...]], RagQuestion] = {}
    for row in load_benchmark(f"{HUB.about.name}/{name}", split=split, data=folder).rows:
        example = row.example
        if isinstance(example, Example) and example.question.strip():
            question, context = example.question, example.context
            found = RagQuestion(id=row.id, question=question, context=context, source=name)
            questions.setdefault((question, context), found)
    return list(questions.values())
