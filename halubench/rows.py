"""Rows as JSON Lines and, where pyarrow is installed, as Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
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


def has_parquet() -> bool:
    """Return whether Parquet can be written (the extra `data`)."""
    return find_spec("pyarrow") is not None


def write_parquet(path: Path, rows: Sequence[QARow]) -> None:
    """Write a file of rows with the columns of `QARow`, whole or not at all."""
    import pyarrow as pa
    from pyarrow import parquet

    text, texts, number = pa.string(), pa.list_(pa.string()), pa.int64()
    provenance = pa.struct(
        {"file": text, "sha256": text, "revision": text, "row": text, "licence": text}
    )
    edit = pa.struct({"start": number, "end": number, "old": text, "document": number})
    others = {
        **dict.fromkeys(("context", "excerpt", "reasoning"), texts),
        "provenance": provenance,
        "edits": pa.list_(edit),
    }
    schema = pa.schema({name: others.get(name, text) for name in QARow.model_fields})
    table = pa.Table.from_pylist([row.model_dump(mode="json") for row in rows], schema=schema)
    with written_whole(path) as draft:
        parquet.write_table(table, draft, compression="zstd")
