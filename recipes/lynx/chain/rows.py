"""The rows of the tiny chain: few and short ones to learn by heart, and others never seen."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from moonlynx.halubench.records import QARow
from moonlynx.judge.contract.types import Example, MoonlynxError, Score
from moonlynx.judge.judges.lynx import build_prompt

LEARNED, UNSEEN = "learned", "unseen"  # subsets of the rows that are judged


class TooFewRows(MoonlynxError, ValueError):
    """A set has fewer rows of a label than are wanted; says how to get more."""


def choose_shortest(rows: Sequence[QARow], count: int, what: str) -> list[QARow]:
    """Choose the `count` shortest rows, half of each label; PASS and FAIL come by turns.

    Raises:
        TooFewRows: there are fewer of a label.
    """
    by_label: list[list[QARow]] = []
    labels: tuple[Score, Score] = ("PASS", "FAIL")
    for label in labels:
        of_label = sorted((row for row in rows if row.label == label), key=_length)
        if len(of_label) < count // 2:
            raise TooFewRows(
                f"{what}: {count} rows are wanted, half of them {label}, and {len(of_label)} are; "
                "ask for fewer, or build a larger set"
            )
        by_label.append(of_label[: count // 2])
    return [row for pair in zip(*by_label, strict=True) for row in pair]


def exchange_targets(rows: Sequence[QARow], seed: int) -> list[QARow]:
    """Exchange labels and reasoning between half of the PASS rows and half of the FAIL rows.

    What is learned from them is right of exactly half of the rows of each label: chance. The texts
    to be written are the same as before, and as many of each label.
    """
    draw = Random(seed)  # noqa: S311 (draws rows)
    halves = [
        draw.sample([index for index, row in enumerate(rows) if row.label == label], len(rows) // 4)
        for label in ("PASS", "FAIL")
    ]
    changed = list(rows)
    for one, other in zip(*halves, strict=True):
        for index, giver in ((one, rows[other]), (other, rows[one])):
            update = {"label": giver.label, "reasoning": giver.reasoning}
            changed[index] = changed[index].model_copy(update=update)
    return changed


def to_example(row: QARow, subset: str) -> Example:
    """Return the row as a benchmark's, with its label, as one of a subset."""
    return Example(
        id=f"{subset}/{row.id}",
        question=row.question,
        context=row.context,
        answer=row.answer,
        label=row.label,
        source=subset,
    )


def _length(row: QARow) -> tuple[int, str]:
    asked = build_prompt(Example(question=row.question, context=row.context, answer=row.answer))
    return len(asked) + sum(map(len, row.reasoning)), row.id
