"""Read examples from files, one row at a time: docs/input.md says which files and field names.

A row that cannot be judged comes out as a `BadInput` naming its line and field; the rest are read.
Fields that an Example does not know are ignored.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..contract.types import BadInput, Example
from .fields import AS_NAMED, FieldMap, id_of, read_example
from .formats import RawRow, read_lines, read_raw


class Row(NamedTuple):
    """One row of a file."""

    line: int  # of JSON Lines the line, else the row's number; from 1
    id: str | int | None  # the row's own, where it could be read
    example: Example | BadInput
    unit: str = "line"  # what `line` counts, "line" or "row"


class Source(NamedTuple):
    """What a file is, found in two passes: its hash and its number of rows."""

    sha256: str
    rows: int


def read_rows(path: Path, fields: FieldMap = AS_NAMED) -> Iterator[Row]:
    """Read the rows of a file, or of standard input (`-`), holding only a few of them.

    Raises:
        BadInput: the file is of no known kind, damaged, or a table without the columns needed.
        MissingExtra: Parquet or .zst without pyarrow.
        OSError: the file cannot be read.
    """
    return map(partial(_read, fields), read_raw(path, fields.check_columns))


def read_jsonl(lines: Iterable[bytes], fields: FieldMap = AS_NAMED) -> Iterator[Row]:
    """Read JSON objects, one a line; blank lines are skipped."""
    return map(partial(_read, fields), read_lines(lines))


def describe(path: Path) -> Source:
    """Hash a file and count its rows.

    Raises:
        BadInput, MissingExtra, OSError: as `read_rows` does, except for the columns.
    """
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return Source(digest.hexdigest(), sum(1 for _ in read_raw(path)))


def _read(fields: FieldMap, raw: RawRow) -> Row:
    value = None
    try:
        value = raw.parse()
        example = read_example(value, fields)
        return Row(raw.number, example.id, example, raw.unit)
    except BadInput as error:
        field = f"{raw.unit} {raw.number}, {error.field}"
        named = BadInput(error.code, field, error.message)
        return Row(raw.number, id_of(value, fields), named, raw.unit)
