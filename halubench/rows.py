"""Rows as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from moonlynx.judge.journal import to_line
from moonlynx.judge.types import BadInput

from .records import QARow


def read_rows(path: Path) -> list[QARow]:
    """Read the rows of a file; blank lines are passed over.

    Raises:
        BadInput: a line is no QARow; names line and field.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return [_read(path, number, line) for number, line in enumerate(file, 1) if line.strip()]


def write_rows(path: Path, rows: Iterable[QARow]) -> None:
    """Write a file of rows, whole or not at all."""
    draft = path.with_name(path.name + ".part")
    with draft.open("wb") as file:
        file.writelines(map(to_line, rows))
    draft.replace(path)


def _read(path: Path, number: int, line: bytes) -> QARow:
    try:
        return QARow.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "row"
        raise BadInput("bad_input", f"{path}, line {number}, {field}", first["msg"]) from None
