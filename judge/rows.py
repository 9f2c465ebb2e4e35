"""Read examples from JSONL, CSV and Parquet files, one row at a time.

A row that cannot be judged comes out as a `BadInput` naming its line and field; the rest go on.
Columns that an Example does not know are left aside.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from .backends.base import MissingExtra
from .types import BadInput, Example

_PARQUET_ROWS = 256  # rows held in memory at once


class Row(NamedTuple):
    """One row of a file.

    `line` counts from 1; `id` is the row's own, where it could be read.
    """

    line: int
    id: str | int | None
    example: Example | BadInput


class Source(NamedTuple):
    """What a file is, found in one pass: its hash and its number of rows."""

    sha256: str
    rows: int


def read_rows(path: Path) -> Iterator[Row]:
    """Read the file's rows, holding only a few of them.

    Raises:
        BadInput: the file's kind is not known by its ending.
        MissingExtra: Parquet without pyarrow.
        OSError: the file cannot be read.
    """
    return _reader(path)(path)


def read_jsonl(lines: Iterable[bytes]) -> Iterator[Row]:
    """Read JSON objects, one a line; blank lines are passed over."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _row(number, lambda line=line: _parse_json(line))  # type: ignore[misc]


def describe(path: Path) -> Source:
    """Hash a file and count its rows."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return Source(digest.hexdigest(), _COUNTERS[_kind(path)](path))


def _row(line: int, parse: Callable[[], Mapping[str, Any]]) -> Row:
    row_id = None
    try:
        raw = parse()
        known = {name: value for name, value in raw.items() if name in Example.model_fields}
        if isinstance(known.get("id"), str | int):
            row_id = known["id"]
        return Row(line, row_id, Example.from_row(known))
    except BadInput as error:
        named = BadInput(error.code, f"line {line}, {error.field}", error.message)
        return Row(line, _writable(row_id), named)


def _writable(row_id: str | int | None) -> str | int | None:
    """Give the id only where a verdict can hold it."""
    if isinstance(row_id, bool):
        return None
    if isinstance(row_id, str) and any("\ud800" <= character <= "\udfff" for character in row_id):
        return None
    return row_id


def _parse_json(line: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 at byte {error.start}"
        raise BadInput("bad_input", "row", message) from None
    except (ValueError, RecursionError) as error:
        raise BadInput("bad_input", "row", f"is not a JSON object ({error})") from None
    if not isinstance(value, dict):
        message = f"must be a JSON object with context and answer, got {type(value).__name__}"
        raise BadInput("bad_input", "row", message)
    return value


def _read_jsonl_file(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from read_jsonl(file)


def _read_csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        rows = _csv_rows(file)
        _check_header(path, rows.fieldnames)
        for number, raw in enumerate(rows, start=1):
            yield _row(number, lambda raw=raw: _parse_cells(raw))  # type: ignore[misc]


def _csv_rows(file: TextIO) -> csv.DictReader[str]:
    csv.field_size_limit(2**31 - 1)  # its default would refuse a document over 128 kB
    return csv.DictReader(file)


def _check_header(path: Path, names: Iterable[str] | None) -> None:
    missing = {"context", "answer"} - set(names or ())
    if missing:
        columns = " and ".join(sorted(missing))
        raise BadInput("bad_input", str(path), f"has no column {columns}; name it in the first row")


def _parse_cells(raw: Mapping[str | None, Any]) -> Mapping[str, Any]:
    """Empty cells are left out; a cell that is a JSON list holds several documents."""
    cells: dict[str, Any] = {}
    for name, value in raw.items():
        if name is None or value is None:
            continue
        if value or name in ("context", "answer"):
            cells[name] = value
    for name in ("context", "samples", "conversation", "spans"):
        if str(cells.get(name, "")).lstrip().startswith("["):
            try:
                cells[name] = json.loads(cells[name])
            except (ValueError, RecursionError):
                continue  # a text that begins with a bracket
    return cells


def _read_parquet(path: Path) -> Iterator[Row]:
    number = 0
    for batch in _parquet(path).iter_batches(batch_size=_PARQUET_ROWS):
        for raw in batch.to_pylist():
            number += 1
            yield _row(number, lambda raw=raw: _drop_nulls(raw))  # type: ignore[misc]


def _drop_nulls(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Null and NaN mean that the optional column holds nothing here."""
    return {
        name: value
        for name, value in raw.items()
        if not (value is None or (isinstance(value, float) and math.isnan(value)))
    }


def _parquet(path: Path) -> Any:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra("Reading Parquet", "data") from None
    try:
        return ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise BadInput("bad_input", str(path), f"is not a Parquet file ({error})") from None


def _count_jsonl(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _count_csv(path: Path) -> int:
    def count(file: TextIO) -> int:
        return sum(1 for _ in _csv_rows(file))

    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        return count(file)


def _count_parquet(path: Path) -> int:
    return int(_parquet(path).metadata.num_rows)


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": _read_jsonl_file,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
_COUNTERS: dict[str, Callable[[Path], int]] = {
    ".jsonl": _count_jsonl,
    ".csv": _count_csv,
    ".parquet": _count_parquet,
}


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    suffix = {".ndjson": ".jsonl"}.get(suffix, suffix)
    if suffix not in _READERS:
        message = f"unknown kind of file; use one of {', '.join(_READERS)}"
        raise BadInput("bad_input", str(path), message)
    return suffix


def _reader(path: Path) -> Callable[[Path], Iterator[Row]]:
    return _READERS[_kind(path)]
