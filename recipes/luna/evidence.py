"""How often the evidence that a judge names holds the fact: on FeTaQA's tables.

Its answers were written by people over cells that are marked, so it is known which rows of a table
an answer is from. On the command line: `python -m moonlynx.recipes.luna.evidence --judge luna`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from moonlynx.judge.base import Judge
from moonlynx.judge.messages import echo, errors_as_messages
from moonlynx.judge.registry import load_judge
from moonlynx.judge.types import Example, Verdict
from moonlynx.recipes.cli import DataOption

from .answers.base import overlap, read_lines
from .answers.right import markdown

_FILES = ("fetaQA-v1_dev.jsonl", "fetaQA-v1_test.jsonl.gz")
_LEAST_ROWS = 4  # below the header; in a shorter table chance finds the row


class MarkedAnswer(NamedTuple):
    """A right answer over a table.

    Attributes:
        example: its context is the table in Markdown.
        rows: the range of each row below the header in the context.
        marked: of these, the rows that hold marked cells, by index.
    """

    example: Example
    rows: tuple[tuple[int, int], ...]
    marked: frozenset[int]


class Found(NamedTuple):
    """How the evidence of supported answers lies.

    Attributes:
        answers, supported: how many were judged, and passed with evidence in the table's rows.
        hit: share of the supported ones with a piece of evidence in a marked row.
        hit_by_chance: the same for as many rows drawn at random.
        precision: share of all rows named as evidence that are marked.
        recall: share of all marked rows that are named.
    """

    answers: int
    supported: int
    hit: float
    hit_by_chance: float
    precision: float
    recall: float


def read_marked(root: Path) -> Iterator[MarkedAnswer]:
    """Read the answers over tables with rows enough.

    Raises:
        DataNotFound: FeTaQA is not at `root`.
    """
    for name in _FILES:
        for row in read_lines(root / "fetaqa" / name):
            names, *rows = row["table_array"]
            marked = frozenset(line - 1 for line, _ in row["highlighted_cell_ids"] if line > 0)
            if len(rows) >= _LEAST_ROWS and marked:
                table = markdown(names, rows)
                example = Example(question=row["question"], context=(table,), answer=row["answer"])
                yield MarkedAnswer(example, tuple(_lines(table))[2:], marked)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def measure_evidence(judge: Judge, answers: Sequence[MarkedAnswer], seed: int = 0) -> Found:
    """Judge the answers and hold the evidence of the passed ones against the marked rows.

    Raises:
        ValueError: no answer was passed with evidence.
    """
    rng = random.Random(seed)  # noqa: S311 - chance, not secrecy
    verdicts = judge([answer.example for answer in answers])
    named = [
        (answer, rows)
        for answer, verdict in zip(answers, verdicts, strict=True)
        if verdict.score == "PASS" and (rows := _rows(answer, verdict))
    ]
    if not named:
        raise ValueError("no answer was passed with evidence in a row of its table")
    drawn = [set(rng.sample(range(len(each.rows)), len(rows))) for each, rows in named]
    right = sum(len(rows & answer.marked) for answer, rows in named)
    return Found(
        answers=len(answers),
        supported=len(named),
        hit=_share(bool(rows & answer.marked) for answer, rows in named),
        hit_by_chance=_share(
            bool(rows & answer.marked) for (answer, _), rows in zip(named, drawn, strict=True)
        ),
        precision=right / sum(len(rows) for _, rows in named),
        recall=right / sum(len(answer.marked) for answer, _ in named),
    )


def _rows(answer: MarkedAnswer, verdict: Verdict) -> set[int]:
    """Give the rows that the verdict's evidence touches, by index."""
    pieces = [piece for sentence in verdict.sentences for piece in sentence.evidence]
    return {
        index
        for index, place in enumerate(answer.rows)
        if any(overlap((piece.start, piece.end), place) for piece in pieces)
    }


def _share(held: Iterator[bool]) -> float:
    values = list(held)
    return sum(values) / len(values)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    data: DataOption,
    judge: Annotated[str, typer.Option(help="Name of a judge that gives evidence.")] = "luna",
    most: Annotated[int, typer.Option(min=1, help="Answers to judge, drawn by lot.")] = 1000,
) -> None:
    """Show how often a judge's evidence lies in the rows that an answer was written from."""
    with errors_as_messages():
        answers = list(read_marked(data))
        rng = random.Random(0)  # noqa: S311 - chance, not secrecy
        found = measure_evidence(load_judge(judge), rng.sample(answers, min(most, len(answers))))
    for name, value in found._asdict().items():
        echo(f"{name}: {value}" if isinstance(value, int) else f"{name}: {value:.3f}")


if __name__ == "__main__":
    app()
