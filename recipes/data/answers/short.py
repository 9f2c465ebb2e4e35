"""Answers over retrieved passages, with spans, and single facts, labelled against a text."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from moonlynx.eval.benchmarks.ragtruth import read_answer
from moonlynx.judge.contract.types import Score

from .base import Exclusions, LabelledAnswer, labelled, read_json, read_lines

_UNSUPPORTED = {"Wrong-Grounding", "Unverifiable"}

Pairs = Sequence[tuple[Score, str]]

_LONGER = 1.3  # how many times as long as the right answer a wrong one may be
_HALUEVAL = ("qa_one-turn_data.json", "qa_multi-turn_data.json")
_BIOGRAPHERS = ("chatgpt", "instructgpt", "perplexityai")


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


def read_halueval(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read HaluEval's QA pairs whose wrong answer is not much longer than the right one.

    Length alone separates the others, which are most.
    """
    seen: set[tuple[str, str]] = set()
    for name in _HALUEVAL:
        left_out = exclusions[f"halueval/{name}: row index from 0"]
        for number, row in enumerate(read_lines(root / "halueval" / name)):
            right, wrong = row["right_answer"], row["hallucinated_answer"]
            if str(number) in left_out or len(wrong) > _LONGER * len(right):
                continue
            pair: Pairs = (("PASS", right), ("FAIL", wrong))
            for label, answer in pair:
                if (row["question"], answer) not in seen:
                    seen.add((row["question"], answer))
                    yield labelled(
                        "halueval",
                        f"{name.split('_')[1]}-{number}-{label}",
                        label,
                        question=row["question"].strip(),
                        context=row["knowledge"],
                        answer=answer,
                        spans=[(0, len(answer))],
                    )


def read_factscore(root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the facts of generated biographies, each judged against the person's Wikipedia page.

    A fact labelled both ways under different questions is left out.
    """
    for writer in _BIOGRAPHERS:
        path = root / "factscore_qcnli" / f"factscore_{writer}.json.gz"
        for number, row in enumerate(read_lines(path)):
            page = row["tuple1"]["tuple"][0].replace("<s>", "").replace("</s>", "\n").strip()
            labels = _facts(row["additional_notes"])
            for order, (fact, found) in enumerate(labels.items()):
                if len(found) == 1:
                    yield labelled(
                        "factscore_qcnli",
                        f"{writer}-{number}-{order}",
                        "PASS" if "entailment" in found else "FAIL",
                        context=page,
                        answer=fact,
                    )


def _facts(notes: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, set[str]]:
    labels: dict[str, set[str]] = {}
    for pairs in notes.values():
        for fact, label in pairs:
            labels.setdefault(fact, set()).add(label)
    return labels
