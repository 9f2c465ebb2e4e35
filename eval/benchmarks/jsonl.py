"""A user's benchmark: a file of Examples with labels, of any kind that docs/input.md lists.

Each row has a context, an answer and a label, PASS or FAIL, and may have a question and gold spans.
Its `source` is its subset.
"""

from __future__ import annotations

from pathlib import Path

from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.rows.examples import Row, describe, read_rows
from moonlynx.judge.rows.fields import AS_NAMED, FieldMap

from .base import About, Benchmark, BenchmarkError, BenchmarkRow


def read_file(path: Path, fields: FieldMap = AS_NAMED) -> Benchmark:
    """Read the file, whose rows name their fields as `fields` says.

    Raises:
        BenchmarkError: a row has no label.
        BadInput: a row that no judge could take, or an unknown kind of file.
        OSError: the file cannot be read.
    """
    rows = tuple(_labelled(path, row) for row in read_rows(path, fields))
    about = About(path.stem, str(path), "not stated", "the rows' own labels")
    files = {path.name: describe(path).sha256}
    return Benchmark(about, "all", rows, test_only=False, files=files)


def _labelled(path: Path, row: Row) -> BenchmarkRow:
    """Return the benchmark's row; one that cannot be read has no label to count, so it raises."""
    example = row.example
    if isinstance(example, BadInput):
        raise BadInput(example.code, f"{path}, {example.field}", example.message)
    label = example.label
    if label is None:
        message = "has no label; a benchmark's rows need one, PASS or FAIL"
        raise BenchmarkError(f"{path}, {row.unit} {row.line}: {message}")
    row_id = f"{path.stem}/{row.line}" if example.id is None else example.id
    named = example.model_copy(update={"id": row_id})
    return BenchmarkRow(row_id, example.source or "all", label, named)
