"""What a benchmark is, and how one is read from a user's file or the Hugging Face Hub."""

import errno
import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import BadInput, Example, MoonlynxError, Score
from moonlynx.judge.files.stored import sha256_file
from moonlynx.judge.rows.examples import Row, describe, read_rows
from moonlynx.judge.rows.fields import AS_NAMED, FieldMap


class BenchmarkError(MoonlynxError):
    """A benchmark cannot be loaded; says what to do."""


class BenchmarkRow(NamedTuple):
    """One labelled row."""

    id: str | int  # unique in the benchmark, and the same on every load
    subset: str  # the part of the benchmark that the row belongs to
    label: Score  # gold; known also where the row itself cannot be judged
    # the row with its gold label and spans, or why no judge can take it
    example: Example | BadInput
    # what published detectors said of it, by their names, where the files have it
    recorded: Mapping[str, Score] = MappingProxyType({})
    generator: str = ""  # the model that wrote the answer, "" where the files do not say


@dataclass(frozen=True)
class About:
    """What a report says about a benchmark."""

    name: str  # the name it is loaded by
    source: str  # paper and place of publication
    licence: str  # as its publishers state it
    label_rule: str  # which rows are FAIL


@dataclass(frozen=True)
class Benchmark:
    """A loaded benchmark."""

    about: About
    split: str  # the part of the published set
    rows: tuple[BenchmarkRow, ...]
    test_only: bool = True  # published numbers exist for these rows; nothing may be trained on them
    # SHA-256 of each file read, by its path below the data folder
    files: Mapping[str, str] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()  # what a reader of its numbers has to know, a sentence each
    # rows of the files that could not become rows here, counted by reason
    left_out: Mapping[str, int] = field(default_factory=dict)
    # by subset, PASS rows of the published set which the files lack
    missing_clean: Mapping[str, int] = field(default_factory=dict)
    # rows of the split, where only a random sample of them was taken
    sampled_from: int | None = None
    # reads rows of the published training part, for the baselines that a report fits
    training: Callable[[], tuple[BenchmarkRow, ...]] = tuple

    def rows_sha256(self) -> str:
        """Hash ids, gold and texts of all rows: what a run over them is identified by."""
        digest = hashlib.sha256()
        for row in self.rows:
            is_bad = isinstance(row.example, BadInput)
            text = str(row.example) if is_bad else row.example.model_dump_json()  # type: ignore[union-attr]
            line = [row.id, row.subset, row.label, text]
            digest.update(json.dumps(line, ensure_ascii=False).encode("utf-8") + b"\n")
        return digest.hexdigest()


class Loader(NamedTuple):
    """How a benchmark is read from the data folder: a function of it and of a split.

    The first of the splits is the default.
    """

    about: About
    splits: tuple[str, ...]
    read: Callable[[Path, str], Benchmark]


class HubLoader(NamedTuple):
    """How a benchmark is read from the dataset of its name on the Hugging Face Hub.

    `read_row` turns a row of the dataset, with its number from 0, into a row of the benchmark, or
    into None where it has no answer or no label. It finds the name of its configuration, of those
    that the dataset is stored in, as `configuration`. `training` is the split that baselines are
    fitted to.
    """

    about: About
    splits: tuple[str, ...]
    read_row: Callable[[int, Mapping[str, Any]], BenchmarkRow | None]
    configurations: tuple[str, ...] = ()
    training: str = ""


def make_row(
    benchmark: str,
    subset: str,
    key: str | int,
    label: Score,
    *,
    context: str | Iterable[str],
    answer: str,
    question: str = "",
    spans: Iterable[tuple[int, int]] | None = None,
    generator: str = "",
) -> BenchmarkRow:
    """Build a row named `benchmark/subset/key`; `spans` are gold ranges of the answer."""
    row_id = f"{benchmark}/{subset}/{key}"
    fields: dict[str, Any] = {
        "id": row_id,
        "question": question,
        "context": context if isinstance(context, str) else tuple(context),
        "answer": answer,
        "label": label,
        "source": f"{benchmark}/{subset}",
    }
    if spans is not None:
        fields["spans"] = [{"start": s, "end": e, "text": answer[s:e]} for s, e in spans]
    try:
        example: Example | BadInput = Example.from_row(fields)
    except BadInput as error:
        example = BadInput(error.code, f"row {row_id}, {error.field}", error.message)
    return BenchmarkRow(row_id, subset, label, example, generator=generator)


def find_files(data: Path, pattern: str) -> list[Path]:
    """Return the files below `data` that match, of which there must be some.

    Raises:
        FileNotFoundError: there are none.
    """
    paths = sorted(data.glob(pattern))
    if not paths:
        raise FileNotFoundError(errno.ENOENT, "no such file", str(data / pattern))
    return paths


def read_json(path: Path) -> Any:
    """Read a JSON file, gzipped or not."""
    return json.loads(read_text(path))


def read_text(path: Path) -> str:
    """Read a UTF-8 file, gzipped or not."""
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")


def hash_files(data: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file, by its path below `data`."""
    return {path.relative_to(data).as_posix(): sha256_file(path) for path in paths}


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


def read_hub(
    loader: HubLoader, split: str, revision: str | None, copy: Path | None, part: str = ""
) -> Benchmark:
    """Read a split of the loader's dataset.

    Args:
        loader: says which dataset, and how its rows are read.
        split: as the dataset calls it.
        revision: commit, branch or tag on the Hub; the newest where it is None.
        copy: a folder that holds a copy of the dataset, read instead of the Hub.
        part: a subset, to read that alone.

    Raises:
        MissingExtra: the package `datasets` is not installed.
        BenchmarkError: the dataset is not available, has no such part, or its columns are not the
            known ones.
    """
    rows, unlabelled = _read_split(loader, split, revision, copy, part)
    left_out = {"rows without an answer or a label": unlabelled} if unlabelled else {}
    fitted = loader.training not in ("", split)
    training = partial(_read_training, loader, revision, copy, part) if fitted else tuple
    return Benchmark(loader.about, split, tuple(rows), left_out=left_out, training=training)


def _read_training(
    loader: HubLoader, revision: str | None, copy: Path | None, part: str
) -> tuple[BenchmarkRow, ...]:
    try:
        return tuple(_read_split(loader, loader.training, revision, copy, part)[0])
    except BenchmarkError:  # a copy may hold the test split alone
        return ()


def _read_split(
    loader: HubLoader, split: str, revision: str | None, copy: Path | None, part: str
) -> tuple[list[BenchmarkRow], int]:
    """Return the rows, and how many more have no answer or no label."""
    names = [name for name in loader.configurations or ("",) if part in ("", name) or not name]
    read = [
        row for name in names for row in _read_configuration(loader, name, split, revision, copy)
    ]
    rows = [row for row in read if row is not None]
    chosen = [row for row in rows if part in ("", row.subset)]
    if not chosen and (rows or not names):
        known = ", ".join(loader.configurations or sorted({row.subset for row in rows}))
        raise BenchmarkError(f"{loader.about.name} has no part {part!r}; it has {known}")
    return chosen, len(read) - len(rows)


def _read_configuration(
    loader: HubLoader, configuration: str, split: str, revision: str | None, copy: Path | None
) -> list[BenchmarkRow | None]:
    try:
        from datasets import load_dataset
        from datasets.exceptions import DatasetsError
    except ImportError:
        raise MissingExtra("Loading a benchmark from the Hub", "data") from None
    name = loader.about.name
    place = (name, configuration or None) if copy is None else (str(copy / configuration), None)
    shown = "/".join(filter(None, place))
    try:
        dataset = load_dataset(*place, split=split, revision=revision)
    except (OSError, ValueError, DatasetsError) as error:
        raise BenchmarkError(f"{shown}: cannot be loaded ({error})") from error
    try:
        return [
            loader.read_row(number, raw | {"configuration": configuration})
            for number, raw in enumerate(dataset)
        ]
    except KeyError as error:
        columns = ", ".join(dataset.column_names)
        message = f"{shown}: has no {error}; its columns are {columns}. Was its layout changed?"
        raise BenchmarkError(message) from error
