"""Benchmarks by name: from files in a data folder, from the Hub, or a file of the user's.

One module a benchmark; each opens with its source, its licence and how its labels are read.
"""

import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

from moonlynx.judge.rows.fields import AS_NAMED, FieldMap

from . import aggrefact, faithbench, halubench, ragbench, ragtruth, summedits
from .base import (
    About,
    Benchmark,
    BenchmarkError,
    BenchmarkRow,
    HubLoader,
    Loader,
    read_file,
    read_hub,
)

__all__ = [
    "LOCAL",
    "ON_HUB",
    "About",
    "Benchmark",
    "BenchmarkError",
    "BenchmarkRow",
    "load_benchmark",
]

DATA_VARIABLE = "MOONLYNX_DATA"
LOCAL: dict[str, Loader] = {
    module.LOADER.about.name: module.LOADER
    for module in (ragtruth, halubench, summedits, faithbench)
}
ON_HUB: dict[str, HubLoader] = {
    module.HUB.about.name: module.HUB
    for module in (ragtruth, halubench, summedits, ragbench, aggrefact)
}


def load_benchmark(
    name: str,
    *,
    split: str | None = None,
    data: Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    fields: FieldMap = AS_NAMED,
) -> Benchmark:
    """Load a benchmark.

    Args:
        name: a name in `LOCAL`; a dataset in `ON_HUB`, with `/SUBSET` for a part of it and
            `@REVISION` to pin it; or a file.
        split: the benchmark's default where it is None.
        data: folder with the files, else the one that MOONLYNX_DATA names. For a dataset of the
            Hub, a folder that holds a copy of it.
        limit: take a random sample of so many rows, in their order.
        seed: of the sample.
        fields: how the rows of a user's file name their fields.

    Raises:
        BenchmarkError: nothing of that name, no such split, the files are not there, or rows
            have no label or the same id.
        BadInput: a user's file has a row that no judge can take.
        MissingExtra: an optional package is missing.
    """
    benchmark = _load(name, split, data, fields)
    total = len(benchmark.rows)
    if not total:
        raise BenchmarkError(f"{name}: holds no rows")
    row_id, times = Counter(row.id for row in benchmark.rows).most_common(1)[0]
    if times > 1:
        raise BenchmarkError(f"{name}: {times} rows have the id {row_id!r}; ids must be unique")
    if limit is None or limit >= total:
        return benchmark
    chosen = sorted(random.Random(seed).sample(range(total), limit))  # noqa: S311
    rows = tuple(benchmark.rows[index] for index in chosen)
    return replace(benchmark, rows=rows, missing_clean={}, sampled_from=total)


def _load(name: str, split: str | None, data: Path | None, fields: FieldMap) -> Benchmark:
    place, _, revision = name.partition("@")
    owner, _, rest = place.partition("/")
    dataset, _, part = rest.partition("/")
    repository = f"{owner}/{dataset}"
    if fields.paths and (name in LOCAL or repository in ON_HUB):
        raise BenchmarkError(f"{name}: has its own fields; --map goes with a file of your own")
    if name in LOCAL:
        loader = LOCAL[name]
        return _read_local(loader, _split(name, loader.splits, split), data)
    if repository in ON_HUB:
        hub = ON_HUB[repository]
        return read_hub(hub, _split(repository, hub.splits, split), revision or None, data, part)
    path = Path(name)
    if not path.exists():
        known = ", ".join((*LOCAL, *ON_HUB))
        raise BenchmarkError(f"{name!r} is no benchmark and no file; known: {known}")
    if split is not None:
        raise BenchmarkError(f"{name}: a file has no splits; leave --split out")
    return read_file(path, fields)


def _split(name: str, known: tuple[str, ...], asked: str | None) -> str:
    if asked is not None and asked not in known:
        raise BenchmarkError(f"{name} has no split {asked!r}; it has {', '.join(known)}")
    return asked or known[0]


def _read_local(loader: Loader, split: str, data: Path | None) -> Benchmark:
    name, folder = loader.about.name, data or os.environ.get(DATA_VARIABLE)
    if not folder:
        raise BenchmarkError(
            f"the files of {name} were not found: set {DATA_VARIABLE} to the folder that holds "
            "them, or give --data"
        )
    try:
        return loader.read(Path(folder), split)
    except FileNotFoundError as error:
        raise BenchmarkError(f"{name}: {error.filename} is not there; is {folder} right?") from None
