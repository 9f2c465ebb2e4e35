"""Short answers and single facts, labelled against a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from moonlynx.judge.contract.types import Score

from .base import Exclusions, LabelledAnswer, labelled, read_lines

Pairs = Sequence[tuple[Score, str]]

_LONGER = 1.3  # how many times as long as the right answer a wrong one may be
_HALUEVAL = ("qa_one-turn_data.json", "qa_multi-turn_data.json")
_BIOGRAPHERS = ("chatgpt", "instructgpt", "perplexityai")


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
