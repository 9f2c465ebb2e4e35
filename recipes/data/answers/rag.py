"""Answers to questions and prompts over retrieved passages, with spans marked by people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from moonlynx.eval.benchmarks.ragtruth import read_answer

from .base import Exclusions, LabelledAnswer, labelled, read_json, read_lines

_UNSUPPORTED = {"Wrong-Grounding", "Unverifiable"}


def read_ragtruth(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the available part of RAGTruth's train split: QA and summaries, six models."""
    left_out = exclusions["ragtruth_train_part: source_id"]
    rows = read_lines(root / "ragtruth_train_part" / "ragtruth_train_part.jsonl.gz")
    for answer in map(read_answer, rows):
        if answer.source_id not in left_out:
            yield labelled(
                "ragtruth_train_part",
                answer.key,
                answer.label,
                question=answer.question,
                context=answer.documents,
                answer=answer.text,
                spans=answer.spans,
            )


def read_qa_feedback(root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read QA-Feedback: the first prediction is the one whose errors people marked.

    Irrelevant, redundant and incoherent spans do not concern support.
    """
    rows = read_json(root / "qa_feedback" / "dev_feedback.json.gz")
    for number, row in enumerate(rows):
        if not row["passages"]:
            continue
        spans = [
            (error["start"], error["end"])
            for error in row["feedback"]["errors"]
            if error["error type"] in _UNSUPPORTED
        ]
        yield labelled(
            "qa_feedback",
            number,
            "FAIL" if spans else "PASS",
            question=row["question"],
            context=[_titled(title, lines) for title, *lines in row["passages"]],
            answer=row["prediction 1"],
            spans=spans,
        )


def _titled(title: str, lines: Sequence[str]) -> str:
    text = " ".join(lines)
    return text if text.startswith(title) else f"{title}\n\n{text}"
