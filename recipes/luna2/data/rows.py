"""A metric's input with its labels, and a user's own: one JSON object to a line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from moonlynx.judge.contract.types import MetricInput, MoonlynxError, first_fault
from moonlynx.judge.metrics.definition import MetricDefinition

_OWN = ("labels", "group", "source")
_NOTED = ("votes", "provenance")  # of rows that models labelled or wrote; nothing is learned of it


class RowsError(MoonlynxError, ValueError):
    """Rows that cannot be learned from; names line and field."""


@dataclass(frozen=True, slots=True)
class LabelledInput:
    """An input of a metric with its labels.

    Attributes:
        input: what the metric reads.
        labels: of the metric's classes; one of them, but of a multi-label metric any number.
        group: rows that share it are never on two sides of a split.
        source: where the row is from.
    """

    input: MetricInput
    labels: frozenset[str]
    group: str
    source: str


def read_rows(path: Path, definition: MetricDefinition) -> list[LabelledInput]:
    """Read a JSONL file of a metric's inputs, each with `labels`, and maybe `group` and `source`.

    `labels` is a list of class names, or one name; of a boolean metric true or false will do. A row
    without a group is a group of its own, and its source is the file's name.

    Raises:
        RowsError: a line is no such row, or there is none; names line and field.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RowsError(f"{path} cannot be read: {error}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise RowsError(f"{path}:{number}: no JSON: {error}") from None
        if not isinstance(row, dict):
            raise RowsError(f"{path}:{number}: a row is a JSON object, got {type(row).__name__}")
        rows.append(_read(row, f"{path}:{number}", path.stem, definition))
    if not rows:
        raise RowsError(f"{path} has no rows")
    return rows


def _read(
    row: dict[str, Any], place: str, source: str, definition: MetricDefinition
) -> LabelledInput:
    fields = {name: value for name, value in row.items() if name not in (*_OWN, *_NOTED)}
    try:
        read = MetricInput.model_validate(fields)
    except ValidationError as error:
        field, message = first_fault(error, "row")
        raise RowsError(f"{place}: {field}: {message}") from None
    named = {}
    for field, default in (("group", place), ("source", source)):
        named[field] = row.get(field, default)
        if not isinstance(named[field], str) or not named[field]:
            raise RowsError(f"{place}: {field}: must be a string that is not empty")
    return LabelledInput(read, _labels(row, place, definition), named["group"], named["source"])


def _labels(row: dict[str, Any], place: str, definition: MetricDefinition) -> frozenset[str]:
    if "labels" not in row:
        raise RowsError(f"{place}: labels: is missing; every row needs it")
    given = row["labels"]
    found = given if isinstance(given, list) else [given]
    found = [str(each).lower() if isinstance(each, bool) else each for each in found]
    for label in found:
        if not isinstance(label, str) or label not in definition.classes:
            known = ", ".join(definition.classes)
            raise RowsError(f"{place}: labels: {label!r} is no class of {definition.name}: {known}")
    if definition.kind != "multi-label" and len(set(found)) != 1:
        raise RowsError(f"{place}: labels: {definition.name} takes one, got {len(set(found))}")
    return frozenset(found)
