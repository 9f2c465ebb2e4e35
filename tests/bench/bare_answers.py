"""200 pairs of bare answers from XQuAD: what an answer, and its neighbour's, is judged as.

Run as `python -m tests.bench.bare_answers DATA JUDGE`. A wrong answer is that of another question
about the same paragraph and of the same kind (with digits or without), so that the documents have
it and only the question tells. Each is judged as it is, and with its question in front.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from moonlynx.eval.metrics import auroc
from moonlynx.judge.contract.types import Example
from moonlynx.judge.registry import load_judge

PAIRS = 200
FORMS = {"bare": "{answer}", "after its question": "{question} {answer}"}


def pairs(data: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield context, question, right and wrong answer, the same ones every time."""
    rng = random.Random(0)
    content = json.loads((data / "xquad_en" / "xquad.en.json").read_text(encoding="utf-8"))["data"]
    for paragraph in rng.sample([p for a in content for p in a["paragraphs"]], PAIRS):
        asked = [(one["question"], one["answers"][0]["text"]) for one in paragraph["qas"]]
        rng.shuffle(asked)
        for question, right in asked:
            digits = any(map(str.isdigit, right))
            wrong = [a for _, a in asked if any(map(str.isdigit, a)) == digits and a not in right]
            wrong = [a for a in wrong if right not in a]
            if wrong and len(right.split()) <= 4:
                yield paragraph["context"], question, right, wrong[0]
                break


def main(data: str, spec: str) -> None:
    judge = load_judge(spec)
    rows = [(c, q, a, label) for c, q, r, w in pairs(Path(data)) for a, label in ((r, 0), (w, 1))]
    failed = np.array([label for *_, label in rows], dtype=bool)
    for name, form in FORMS.items():
        examples = [
            Example(context=c, question=q, answer=form.format(question=q, answer=a))
            for c, q, a, _ in rows
        ]
        verdicts = judge(examples)
        stopped = np.array([verdict.score == "FAIL" for verdict in verdicts])
        ranked = auroc(failed.tolist(), [verdict.raw_score or 0.0 for verdict in verdicts])
        sys.stdout.write(
            f"{spec}, {name}: {(stopped == failed).sum()} of {len(rows)} right, found "
            f"{stopped[failed].sum()}, stopped {stopped[~failed].sum()}, AUROC {ranked:.3f}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
