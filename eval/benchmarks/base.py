"""What a benchmark is: labelled rows, where they come from and how their labels are read."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from moonlynx.judge.contract.types import BadInput, Example, MoonlynxError, Score
from moonlynx.judge.files.stored import sha256_file


class BenchmarkError(MoonlynxError):
    """A benchmark cannot be loaded; says what to do."""


class BenchmarkRow(NamedTuple):
    """One labelled row.

    Attributes:
        id: unique in the benchmark, and the same on every load.
        subset: the part of the benchmark that the row belongs to.
        label: gold; known also where the row itself cannot be judged.
        example: the row with its gold label and spans, or why no judge can take it.
        recorded: what published detectors said of it, by their names, where the files have it.
    """

    id: str | int
    subset: str
    label: Score
    example: Example | BadInput
    recorded: Mapping[str, Score] = MappingProxyType({})


@dataclass(frozen=True)
class About:
    """What a report says about a benchmark.

    Attributes:
        name: the name it is loaded by.
        source: paper and place of publication.
        licence: as its publishers state it.
        label_rule: which rows are FAIL.
    """

    name: str
    source: str
    licence: str
    label_rule: str


@dataclass(frozen=True)
class Benchmark:
    """A loaded benchmark.

    Attributes:
        split: the part of the published set.
        test_only: published numbers exist for these rows; nothing may be trained on them.
        files: SHA-256 of each file read, by its path below the data folder.
        caveats: what a reader of its numbers has to know, a sentence each.
        left_out: rows of the files that could not become rows here, counted by reason.
        missing_clean: by subset, PASS rows of the published set which the files lack.
        sampled_from: rows of the split, where only a random sample of them was taken.
    """

    about: About
    split: str
    rows: tuple[BenchmarkRow, ...]
    test_only: bool = True
    files: Mapping[str, str] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    missing_clean: Mapping[str, int] = field(default_factory=dict)
    sampled_from: int | None = None

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

    `read_row` turns a row of the dataset, with its number from 0, into a row of the benchmark.
    """

    about: About
    splits: tuple[str, ...]
    read_row: Callable[[int, Mapping[str, Any]], BenchmarkRow]


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
        return BenchmarkRow(row_id, subset, label, Example.from_row(fields))
    except BadInput as error:
        named = BadInput(error.code, f"row {row_id}, {error.field}", error.message)
        return BenchmarkRow(row_id, subset, label, named)


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
