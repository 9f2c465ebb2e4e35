"""What the commands that read rows from files have in common."""

from __future__ import annotations

from typing import Annotated

import typer

from .fields import FieldMap
from .messages import echo

FILES_HELP = (
    "Rows: .jsonl, .ndjson, .json, .csv, .tsv or .parquet, also as .gz, .bz2, .xz or .zst; "
    "- is standard input."
)
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=NAME",
        help="What the rows call a field, as in answer=response; dotted where it is nested, as in "
        "question=inputs.question. Repeatable.",
    ),
]


def say_notes(fields: FieldMap) -> None:
    """Tell which names were known, but passed over."""
    for note in fields.notes():
        echo(f"note: {note}", err=True)
