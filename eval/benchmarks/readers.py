"""Benchmarks from a user's file, and from the Hugging Face Hub or a copy of a dataset there.

A file is of any kind that docs/input.md lists. Each of its rows has a context, an answer and a
label, PASS or FAIL, and may have a question and gold spans; its `source` is its subset.
"""

from __future__ import annotations

from pathlib import Path

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.rows.examples import Row, describe, read_rows
from moonlynx.judge.rows.fields import AS_NAMED, FieldMap

from .base import About, Benchmark, BenchmarkError, BenchmarkRow, HubLoader


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


def read_hub(loader: HubLoader, split: str, revision: str | None, copy: Path | None) -> Benchmark:
    """Read a split of the loader's dataset.

    Args:
        loader: says which dataset, and how its rows are read.
        split: as the dataset calls it.
        revision: commit, branch or tag on the Hub; the newest where it is None.
        copy: a folder that holds a copy of the dataset, read instead of the Hub.

    Raises:
        MissingExtra: the package `datasets` is not installed.
        BenchmarkError: the dataset is not available, or its columns are not the known ones.
    """
    try:
        from datasets import load_dataset
        from datasets.exceptions import DatasetsError
    except ImportError:
        raise MissingExtra("Loading a benchmark from the Hub", "data") from None
    name = loader.about.name
    place = name if copy is None else str(copy)
    try:
        dataset = load_dataset(place, split=split, revision=revision)
    except (OSError, ValueError, DatasetsError) as error:
        raise BenchmarkError(f"{place}: cannot be loaded ({error})") from error
    try:
        rows = tuple(loader.read_row(number, raw) for number, raw in enumerate(dataset))
    except KeyError as error:
        columns = ", ".join(dataset.column_names)
        message = f"{place}: has no {error}; its columns are {columns}. Was its layout changed?"
        raise BenchmarkError(message) from error
    return Benchmark(loader.about, split, rows)
