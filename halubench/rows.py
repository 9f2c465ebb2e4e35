"""Rows as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from moonlynx.judge.files.atomic import written_whole
from moonlynx.judge.files.journal import read_records, to_line

from .records import QARow


def read_rows(path: Path) -> list[QARow]:
    """Read the rows of a file; blank lines are skipped.

    Raises:
        BadInput: a line is no QARow; names line and field.
        OSError: the file cannot be read.
    """
    return read_records(path, QARow)


def write_rows(path: Path, rows: Iterable[QARow]) -> None:
    """Write a file of rows, whole or not at all."""
    with written_whole(path) as draft, draft.open("wb") as file:
        file.writelines(map(to_line, rows))
