"""Answers to questions and prompts over retrieved passages, with spans marked by people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from .base import Exclusions, LabelledAnswer, labelled, read_json, read_lines

_PASSAGE = re.compile(r"^(?=passage \d+:)", re.MULTILINE)
_UNSUPPORTED = {"Wrong-Grounding", "Unverifiable"}


def read_ragtruth(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the available part of RAGTruth's train split: QA and summaries, six models."""
    left_out = exclusions["ragtruth_train_part: source_id"]
    for row in read_lines(root / "ragtruth_train_part" / "ragtruth_train_part.jsonl.gz"):
        if str(row["source_id"]) in left_out:
            continue
        spans = [(span["start"], span["end"]) for span in row["labels"]]
        yield labelled(
            "ragtruth_train_part",
            f"{row['source_id']}-{row['model']}",
            "FAIL" if spans else "PASS",
            question=row["question"] or "",
            context=_passages(row["task_type"], row["context"]),
            answer=row["response"],
            spans=spans,
        )


def _passages(task: str, context: str) -> list[str]:
    """Split a QA context of RAGTruth into its passages, as the benchmark does; others are one."""
    if task.upper() != "QA":
        return [context]
    return [passage.strip() for passage in _PASSAGE.split(context) if passage.strip()]


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
