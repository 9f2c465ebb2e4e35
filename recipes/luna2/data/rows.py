"""A metric's labelled inputs, with their places in a split, and a user's own as JSON Lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, StringConstraints

from moonlynx.judge.contract.types import BadInput, MetricInput, Text
from moonlynx.judge.files.journal import read_records
from moonlynx.judge.metrics.definition import MetricDefinition

Side = Literal["train", "validation", "test"]
SIDES: tuple[Side, ...] = ("train", "validation", "test")


def _named(labels: object) -> object:
    """Return labels as JSON may have them, one or several, true or false, as a list of names."""
    found = labels if isinstance(labels, list | tuple | None) else [labels]
    return found and [str(each).lower() if isinstance(each, bool) else each for each in found]


Name = Annotated[Text, StringConstraints(min_length=1)]


class DraftRow(MetricInput):
    """An input of a metric, with labels where it has some already."""

    # of the metric's classes; None where there are none yet
    labels: Annotated[tuple[Text, ...] | None, BeforeValidator(_named)] = None
    group: Name | None = None  # rows that share it are never on two sides of a split
    source: Name | None = None


class _NotedRow(DraftRow):
    """A row that models may have labelled or written; nothing is learned of what they noted."""

    votes: Any = None
    provenance: Any = None


@dataclass(frozen=True, slots=True)
class LabelledInput:
    """An input of a metric with its labels."""

    input: MetricInput
    labels: frozenset[str]  # one of the metric's classes, but of a multi-label metric any number
    group: str  # rows that share it are never on two sides of a split
    source: str


def read_rows(path: Path, definition: MetricDefinition) -> list[LabelledInput]:
    """Read a JSONL file of a metric's inputs, each with `labels`, and maybe `group` and `source`.

    `labels` is a list of class names, or one name; of a boolean metric true or false will do. A row
    without a group is a group of its own, and its source is the file's name.

    Raises:
        BadInput: a line is no such row, or there is none; names line or row, and field.
    """
    found = []
    for number, row in enumerate(read_records(path, _NotedRow), start=1):
        place = f"{path}:{number}"
        fields = row.model_dump(include=set(MetricInput.model_fields))
        found.append(
            LabelledInput(
                MetricInput.model_validate(fields),
                _labels(row, place, definition),
                row.group or place,
                row.source or path.stem,
            )
        )
    if not found:
        raise BadInput("bad_input", str(path), "has no rows")
    return found


def _labels(row: DraftRow, place: str, definition: MetricDefinition) -> frozenset[str]:
    labels, fault = frozenset(row.labels or ()), None
    if row.labels is None:
        fault = "is missing; every row needs it"
    elif unknown := labels - definition.classes.keys():
        known = ", ".join(definition.classes)
        fault = f"{min(unknown)!r} is no class of {definition.name}: {known}"
    elif definition.kind != "multi-label" and len(labels) != 1:
        fault = f"{definition.name} takes one, got {len(labels)}"
    if fault is not None:
        raise BadInput("bad_input", f"{place}, labels", fault)
    return labels


class Placed(NamedTuple):
    """A row, and the side that its set puts it on; None leaves that to the draw."""

    row: LabelledInput
    side: Side | None = None


def place(
    source: str,
    key: str | int,
    labels: bool | Sequence[str],
    *,
    group: str,
    side: Side | None = None,
    **fields: Any,
) -> Placed:
    """Build the row `source/key` of these fields of a MetricInput; what is not given is blank.

    `labels` of a boolean metric is whether it is "true".
    """
    name = f"{source}/{key}"
    given = {"input": "", "output": ""} | fields
    names = (str(labels).lower(),) if isinstance(labels, bool) else labels
    read = MetricInput.model_validate({"id": name, **given})
    return Placed(LabelledInput(read, frozenset(names), group, source), side)


def letters(text: str) -> str:
    """Return a text's letters and digits alone, in lower case: the same for copies of it."""
    return "".join(filter(str.isalnum, text.casefold()))
