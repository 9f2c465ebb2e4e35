"""Cut a file of rows into partitions, always the same ones, and read one of them.

A partition is found by its place in the file; so each worker opens the file itself, and reads no
more of it than it judges.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import BadInput, Record
from moonlynx.judge.rows.examples import Row, read_jsonl, read_rows
from moonlynx.judge.rows.fields import AS_NAMED, FieldMap

_ROWS = 256  # rows of Parquet held in memory at once


class Partition(Record):
    """Rows that stand together in a file."""

    number: int  # from 0, in the order of the file
    rows: int  # how many there are, at least 1
    before: int  # lines of the file before them, blank ones included; of Parquet, rows
    lines: int  # lines that they take up, blank ones included; of Parquet, rows
    start: int = 0  # byte at which they begin; of Parquet, 0


class Plan(Record):
    """A file cut into partitions; `sha256` is that of its bytes."""

    url: str
    sha256: str
    rows: int
    partitions: tuple[Partition, ...]


def plan(url: str, size: int) -> Plan:
    """Cut a file into partitions of `size` rows, the last one smaller, in one pass over it."""
    if _is_parquet(url):
        with open_url(url) as file:
            digest = hashlib.file_digest(file, "sha256")
            total = _parquet(url, file).metadata.num_rows
        cuts = [
            Partition(number=at // size, rows=count, before=at, lines=count)
            for at in range(0, total, size)
            for count in [min(size, total - at)]
        ]
        return Plan(url=url, sha256=digest.hexdigest(), rows=total, partitions=tuple(cuts))
    with open_url(url) as file:
        return _plan_lines(url, file, size)


def _plan_lines(url: str, lines: Any, size: int) -> Plan:
    digest, cuts = hashlib.sha256(), []
    rows = start = before = 0
    here = number = 0
    for number, line in enumerate(lines, start=1):
        digest.update(line)
        here += len(line)
        rows += bool(line.strip())
        if rows == size:
            cuts.append((rows, before, number, start))
            rows, before, start = 0, number, here
    if rows:
        cuts.append((rows, before, number, start))
    partitions = tuple(
        Partition(number=at, rows=rows, before=before, lines=end - before, start=start)
        for at, (rows, before, end, start) in enumerate(cuts)
    )
    total = sum(partition.rows for partition in partitions)
    return Plan(url=url, sha256=digest.hexdigest(), rows=total, partitions=partitions)


def read_partition(url: str, partition: Partition, fields: FieldMap = AS_NAMED) -> Iterator[Row]:
    """Read a partition's rows; their lines, and those in their faults, are those of the file."""
    cut = _cut_parquet if _is_parquet(url) else _cut_lines
    rows = cut(url, partition, fields)
    return (_numbered(row, partition.before) for row in rows)


def _cut_lines(url: str, partition: Partition, fields: FieldMap) -> Iterator[Row]:
    with open_url(url) as file:
        file.seek(partition.start)
        yield from read_jsonl(islice(file, partition.lines), fields)


def _cut_parquet(url: str, partition: Partition, fields: FieldMap) -> Iterator[Row]:
    """Copy the rows, from row groups read whole, into a file for the one reader that there is."""
    from pyarrow.parquet import ParquetWriter

    first, last = partition.before, partition.before + partition.rows
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "rows.parquet")
        with open_url(url) as file:
            source = _parquet(url, file)
            groups, at = _groups(source.metadata, first, last)
            with ParquetWriter(copy, source.schema_arrow) as writer:
                for batch in source.iter_batches(batch_size=_ROWS, row_groups=groups):
                    begin, end = max(first - at, 0), min(last - at, batch.num_rows)
                    if begin < end:
                        writer.write_batch(batch.slice(begin, end - begin))
                    at += batch.num_rows
        yield from read_rows(copy, fields)


def _groups(metadata: Any, first: int, last: int) -> tuple[list[int], int]:
    """Return the row groups that hold the rows, and the row at which these groups begin."""
    groups: list[int] = []
    begin = at = 0
    for group in range(metadata.num_row_groups):
        end = at + metadata.row_group(group).num_rows
        if at < last and end > first:
            begin = begin if groups else at
            groups.append(group)
        at = end
    return groups, begin


def _numbered(row: Row, before: int) -> Row:
    """Number a row by its place in the whole file."""
    line = before + row.line
    if not isinstance(row.example, BadInput):
        return row._replace(line=line)
    fault = row.example
    field = fault.field.replace(f"{row.unit} {row.line},", f"{row.unit} {line},", 1)
    return row._replace(line=line, example=BadInput(fault.code, field, fault.message))


def _is_parquet(url: str) -> bool:
    suffix = PurePosixPath(url).suffix.lower()
    if suffix not in (".jsonl", ".ndjson", ".parquet"):
        raise BadInput("bad_input", url, "unknown kind of file; use .jsonl or .parquet")
    return suffix == ".parquet"


def _parquet(url: str, file: Any) -> Any:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(file)
    except pyarrow.ArrowInvalid as error:
        raise BadInput("bad_input", url, f"is not a Parquet file ({error})") from None


@contextmanager
def open_url(url: str) -> Iterator[Any]:
    """Open a path or fsspec URL to read its bytes."""
    system, path = locate(url)
    with system.open(path, "rb") as file:
        yield file


def locate(url: str) -> tuple[Any, str]:
    """Return the file system of a path or fsspec URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtra("Judging on Ray", "ray") from None
    try:
        system, path = url_to_fs(url)
    except ImportError as error:
        raise BadInput("bad_input", url, f"cannot be reached: {error}") from None
    except ValueError as error:
        raise BadInput("bad_input", url, str(error)) from None
    return system, path
