"""What the commands that read rows have in common, and the rows that `moonlynx judge` is given."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..contract.types import BadInput, Example
from ..rows.examples import Row, read_rows
from ..rows.fields import FieldMap, read_example
from ..rows.formats import STDIN, parse_json
from ..terminal.messages import echo

# A context that ends like one of these and is no file is taken for a typo, not for a text.
_TEXT_FILES = (".txt", ".md", ".json", ".html", ".csv", ".xml")

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
JudgeOption = Annotated[
    str, typer.Option("--judge", help="Name of the judge; `moonlynx judges` lists them.")
]
PresetOption = Annotated[
    Literal["guard", "balanced", "audit"] | None,
    typer.Option(
        help="Thresholds of the judge's calibration. guard: stops at most one in ten faithful "
        "answers; audit: passes at most one in ten hallucinated ones; balanced (the default): the "
        "best balanced accuracy. ?preset=guard in a judge's name.",
    ),
]

IndexOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Documents by `moonlynx index`: ?index=DIR. A row's context then names documents of "
        "it, and a row without one is about them all.",
    ),
]


def check_rows(rows: int, source: object) -> None:
    """Raise BadInput where there are no rows."""
    if not rows:
        raise BadInput("bad_input", str(source), "holds no rows; give at least one")


def say_notes(fields: FieldMap) -> None:
    """Print which names were known, but ignored."""
    for note in fields.notes():
        echo(f"note: {note}", err=True)


def rows_asked_for(
    question: str,
    context: list[str] | None,
    answer: str | None,
    messages: Path | None,
    path: Path | None,
    fields: FieldMap,
) -> Iterable[Row]:
    """Return the rows of --input, the one of --answer or --messages, or those of standard input.

    Raises:
        BadInput: a document, the answer or the messages cannot be read.
    """
    indexed = fields.absent.get("context")
    if indexed and answer is not None:
        context = context or [indexed]
    single = answer is not None or bool(context)
    if messages is not None:
        if single or question or path is not None:
            raise typer.BadParameter("--messages goes alone: they are the whole row")
        found = parse_json(sys.stdin.buffer.read() if messages == STDIN else messages.read_bytes())
        row = found if isinstance(found, dict) else {"messages": found}
        return [Row(1, None, read_example(row, fields))]
    if path is not None:
        if single:
            raise typer.BadParameter("give --input, or --context and --answer, not both")
        return read_rows(path, fields)
    if not single:
        if sys.stdin.isatty():
            raise typer.BadParameter("nothing to judge; give --context and --answer, or --input")
        return read_rows(STDIN, fields)
    if answer is None or not context:
        missing = "--answer" if answer is None else "--context"
        raise typer.BadParameter(f"{missing} is missing; a judge needs a document and an answer")
    if [answer, *context].count("-") > 1:
        raise typer.BadParameter("only one of --context and --answer can be standard input")
    documents = context if indexed else [_text(document) for document in context]
    row = {"question": question, "context": documents, "answer": _standard_input(answer)}
    return [Row(1, None, Example.from_row(row))]


def _text(file_or_text: str) -> str:
    """Read a document: a file where there is one of that name, else the text itself."""
    if file_or_text == "-":
        return _standard_input("-")
    path = Path(file_or_text)
    try:
        if path.is_file():
            return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("bad_input", "context", f"{path} is not UTF-8 text") from None
    except (OSError, ValueError):
        return file_or_text  # too long for a name, or no name at all
    if path.suffix.lower() in _TEXT_FILES and not any(c.isspace() for c in file_or_text):
        raise BadInput("bad_input", "context", f"there is no file {file_or_text}")
    return file_or_text


def _standard_input(text: str) -> str:
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("bad_input", "standard input", "is not UTF-8 text") from None
