"""More rows of RAGTruth for a training set that was built: the paper's RAGTruth+ (appendix B.3).

    python -m moonlynx.recipes.lynx.ragtruth_plus SET --against test.jsonl --output plus.jsonl

SET is what `moonlynx halubench build --split train` wrote. The new rows are of RAGTruth's train
split and in neither of its parts; they share no document with its validation rows, and no run of 13
words with a test row. Traces are made for them as for the others, then the files are joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from moonlynx.halubench.overlap import Leaks
from moonlynx.halubench.records import QARow
from moonlynx.halubench.rows import read_rows, write_rows
from moonlynx.halubench.sources import SOURCES, read_source
from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.rows.examples import read_rows as read_examples
from moonlynx.judge.terminal.messages import echo, errors_as_messages

_ROWS = 2_000  # appendix B.3


def draw_more(
    rows: Iterable[QARow],
    trained_on: Sequence[QARow],
    validation: Sequence[QARow],
    leaks: Leaks,
    count: int,
    seed: int,
) -> list[QARow]:
    """Draw rows that may be trained on as well, at most `count`.

    Args:
        rows: of RAGTruth's train split.
        trained_on: rows of the training set; none of them is drawn again.
        validation: rows whose documents are left alone.
        leaks: knows the test rows.
        count: of rows.
        seed: of the draw.
    """
    there = {row.id for row in trained_on}
    held_back = {row.group for row in validation}
    usable = [
        row
        for row in rows
        if row.id not in there and row.group not in held_back and not leaks.hold(row)
    ]
    return Random(seed).sample(usable, min(count, len(usable)))  # noqa: S311 (draws rows)


def command(
    built: Annotated[
        Path,
        typer.Argument(exists=True, file_okay=False, metavar="SET", help="The training set."),
    ],
    against: Annotated[
        list[Path],
        typer.Option(exists=True, dir_okay=False, help="File of test rows. Repeatable."),
    ],
    output: Annotated[Path, typer.Option(help="JSONL file for the rows.")],
    data: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="Folder with the sources (default: from the Hub)."
        ),
    ] = None,
    count: Annotated[int, typer.Option("--rows", min=1, help="Rows wanted.")] = _ROWS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
) -> None:
    """Draw more rows of RAGTruth to train on."""
    trained_on, validation = (
        read_rows(built / f"{part}.jsonl") for part in ("train", "validation")
    )
    leaks = Leaks(example for path in against for example in _examples(path))
    rows = read_source(SOURCES["RAGTruth"], "train", data)
    drawn = draw_more(rows, trained_on, validation, leaks, count, seed)
    write_rows(output, drawn)
    fails = sum(row.label == "FAIL" for row in drawn)
    echo(f"{output}: {len(drawn):,} of {count:,} rows ({fails:,} FAIL)")
    if len(drawn) < count:
        echo(f"missing because only {len(drawn):,} may be used; {SOURCES['RAGTruth'].note}")


def _examples(path: Path) -> Iterable[Example]:
    for row in read_examples(path):
        if isinstance(row.example, BadInput):
            raise row.example
        yield row.example


def main() -> None:
    """Run the command. Errors that the user can fix end with a message, not a traceback."""
    with errors_as_messages():
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command()(command)
        app()


if __name__ == "__main__":
    main()
