"""Benchmarks from the Hugging Face Hub, or from a local copy of a dataset there."""

from __future__ import annotations

from pathlib import Path

from moonlynx.judge.backends.base import MissingExtra

from .base import Benchmark, BenchmarkError, HubLoader


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
