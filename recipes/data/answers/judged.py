"""Answers as another judge sees them: its verdicts are read as labels, to learn from a larger one.

A sentence's calibrated probability is a soft target (Hinton et al. 2015, "Distilling the knowledge
in a neural network"); where the judge has none, its labels are the targets.
"""

from collections.abc import Iterator
from pathlib import Path

from moonlynx.judge.batch.judging import read_verdicts
from moonlynx.judge.contract.types import BadInput, Example, MoonlynxError, Verdict
from moonlynx.judge.rows.examples import read_rows

from .base import LabelledAnswer, labelled


class VerdictsOfOthers(MoonlynxError, ValueError):
    """A verdict file that is not of these rows."""


def read_judged(rows: Path, verdicts: Path) -> Iterator[LabelledAnswer]:
    """Read rows with the verdicts on them, in order; unscored ones are left out.

    Of a FAIL verdict without sentences it is not known which claims are wrong.

    Raises:
        VerdictsOfOthers: the files do not belong together; names the line.
    """
    found = iter(read_verdicts(verdicts))
    for number, row in enumerate(read_rows(rows), start=1):
        verdict = next(found, None)
        if verdict is None or (row.id is not None and verdict.id != row.id):
            raise VerdictsOfOthers(
                f"{verdicts}, line {number}: is not the verdict on row {row.id} of {rows}; give "
                "the file that `moonlynx judge --input` wrote for it"
            )
        if not isinstance(row.example, BadInput) and verdict.score is not None:
            yield _labelled(row.example, verdict, f"{rows.stem}/{number}")


def _labelled(example: Example, verdict: Verdict, key: str) -> LabelledAnswer:
    assert verdict.score is not None
    wrong = [(s.start, s.end) for s in verdict.sentences if s.label == "UNSUPPORTED"]
    answer = labelled(
        "judged",
        key,
        verdict.score,
        question=example.question,
        context=example.context,
        answer=example.answer,
        spans=wrong or None,
        exact=False,
    )
    beliefs = tuple(
        (sentence.start, sentence.end, 1.0 - sentence.probability)
        for sentence in verdict.sentences
        if sentence.probability is not None
    )
    return LabelledAnswer(answer.example, answer.exact, answer.group, beliefs)
