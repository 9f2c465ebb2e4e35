"""What every set of labelled answers is read into, and the files it is read from."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moonlynx.judge.text import split_sentences
from moonlynx.judge.types import Example, Score

from ..exclusions import DataNotFound

Ranges = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer with its documents and its label.

    Attributes:
        example: with label, source (the set's name) and id. `spans` are the unsupported ranges of
            the answer: none of them where it is PASS, null where only the label is known.
        exact: the spans mark the unsupported words themselves, not whole sentences.
        group: rows that share it share a document, also across sets.
    """

    example: Example
    exact: bool
    group: str


def labelled(
    source: str,
    key: str | int,
    group: str,
    label: Score,
    *,
    context: str | Iterable[str],
    answer: str,
    question: str = "",
    spans: Ranges | None = None,
    exact: bool = True,
) -> LabelledAnswer:
    """Build the row `source/key`; `spans` may overlap, and count only where it is FAIL."""
    ranges = () if label == "PASS" else None if spans is None else _merge(spans)
    example = Example.from_row(
        {
            "id": f"{source}/{key}",
            "question": question,
            "context": context if isinstance(context, str) else tuple(context),
            "answer": answer,
            "label": label,
            "spans": ranges
            if ranges is None
            else [{"start": s, "end": e, "text": answer[s:e]} for s, e in ranges],
            "source": source,
        }
    )
    return LabelledAnswer(example, label == "PASS" or (ranges is not None and exact), group)


def sentences_at(answer: str, ranges: Ranges) -> list[tuple[int, int]]:
    """Give the ranges of the sentences that the given ranges touch."""
    ranges = list(ranges)
    return [
        (piece.start, piece.end)
        for piece in split_sentences(answer)
        if any(start <= piece.end and end >= piece.start for start, end in ranges)
    ]


def overlap(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Say whether two half-open ranges have a character in common."""
    return first[0] < second[1] and second[0] < first[1]


def read_json(path: Path) -> Any:
    """Read a JSON file, gzipped or not."""
    with _open(path) as file:
        return json.load(file)


def read_lines(path: Path) -> Iterator[Any]:
    """Read a file of one JSON value a line, gzipped or not."""
    with _open(path) as file:
        for line in file:
            yield json.loads(line)


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    """Read a CSV file with a header, gzipped or not."""
    with _open(path, newline="") as file:
        yield from csv.DictReader(file)


def _open(path: Path, newline: str | None = "\n") -> io.TextIOWrapper:
    if not path.is_file():
        raise DataNotFound(path)
    raw = gzip.open(path) if path.suffix == ".gz" else path.open("rb")
    return io.TextIOWrapper(raw, encoding="utf-8", newline=newline)


def _merge(ranges: Ranges) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
