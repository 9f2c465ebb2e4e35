"""Schemas of records: their fields, tables, hours, reviews and facts, read from YAML files."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .kind import Kind
from .kinds import KINDS
from .words import lines, read_yaml


@dataclass(frozen=True)
class Field:
    """One field of a record or row."""

    name: str
    kind: Kind
    keys: tuple[str, ...]  # the words of the key it may be printed under
    group: str  # the path of the object it is in, separated by dots; empty at the top
    # the share of records in which it is null, or which lack its key
    null: float
    absent: float
    hidden: bool  # never printed; follows from printed fields


@dataclass(frozen=True)
class Table:
    """A list of rows, each named by its `label` field."""

    name: str
    noun: str
    nouns: str
    label: str
    size: tuple[int, int]
    keys: tuple[str, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Schema:
    """One kind of record, as its YAML file describes it."""

    name: str
    nouns: tuple[str, ...]  # what a record may be called ("hotel", "property")
    title: str  # the field that names it
    overviews: tuple[str, ...]  # instructions that ask for an overview
    groups: Mapping[str, float]  # the share of records in which a group is null
    fields: tuple[Field, ...]
    tables: tuple[Table, ...]
    hours: bool
    reviews: str  # the name of the set of review aspects, or empty
    facts: Mapping[str, Mapping[str, Any]]  # what can be said about a record

    def table(self, name: str) -> Table:
        """Find a table by its name."""
        return next(table for table in self.tables if table.name == name)

    def field(self, path: str) -> tuple[Table | None, Field]:
        """Find a field by its name or `table.name`."""
        table_name, _, name = path.rpartition(".")
        table = self.table(table_name) if table_name else None
        fields = table.fields if table else self.fields
        return table, next(field for field in fields if field.name == name)


def _field(name: str, spec: Mapping[str, Any]) -> Field:
    kind = spec.get("kind", "number")
    return Field(
        name=name,
        kind=KINDS[kind]({**spec, "name": name}),
        keys=tuple(spec.get("keys", ())) or (name.replace("_", " "),),
        group=spec.get("group", ""),
        null=spec.get("nulls", 0.0),
        absent=spec.get("absent", 0.0),
        hidden=spec.get("hidden", kind == "band"),
    )


def _table(name: str, spec: Mapping[str, Any]) -> Table:
    low, high = spec["size"]
    return Table(
        name=name,
        noun=spec["noun"],
        nouns=spec["nouns"],
        label=spec["label"],
        size=(low, high),
        keys=tuple(spec.get("keys", (name,))),
        fields=tuple(_field(*item) for item in spec["fields"].items()),
    )


@cache
def load_schema(name: str) -> Schema:
    """Read one schema by the name of its file."""
    spec = read_yaml(name)
    return Schema(
        name=name,
        nouns=tuple(spec["nouns"]),
        title=spec["title"],
        overviews=lines(spec["overview"]),
        groups=spec.get("groups", {}),
        fields=tuple(_field(*item) for item in spec["fields"].items()),
        tables=tuple(_table(*item) for item in spec.get("tables", {}).items()),
        hours=spec.get("hours", False),
        reviews=spec.get("reviews", ""),
        facts=spec["facts"],
    )
