"""One drawn record: its values, its opening hours and reviews, and how it is printed."""

from dataclasses import dataclass
from random import Random
from typing import Any

from .kind import Style, Values
from .kinds import Choice, Flag
from .numbers import WEEKDAYS
from .reviews import Review, draw_reviews
from .schema import Field, Schema, Table

Hours = dict[str, tuple[int, int] | None]
"""Weekday to opening and closing minute; None where closed, no entry where not stated."""

_WEEK_SHAPES = ((5, 1, 1), (5, 2), (1, 4, 1, 1), (4, 2, 1), (7,), (1, 6), (3, 2, 2))


@dataclass(frozen=True)
class World:
    """A record that answers are written about."""

    schema: Schema
    record: Values  # the top level; tables are lists of rows in it
    units: dict[str, str]  # the unit of each field that has one, by `name` or `table.name`
    null_groups: frozenset[str]  # groups that are null as a whole
    hours: Hours
    reviews: tuple[Review, ...]
    style: Style

    @property
    def title(self) -> str:
        """Return the record's own name."""
        return str(self.record[self.schema.title])

    def unit(self, table: Table | None, field: Field) -> str:
        """Return a field's unit in this record, or an empty string."""
        return self.units.get(f"{table.name}.{field.name}" if table else field.name, "")


def draw_world(schema: Schema, rng: Random) -> World:
    """Draw a record."""
    style = Style(
        unit=rng.choice(("key", "text", "pair") if rng.random() < 0.5 else ("key", "text")),
        clock=rng.choice(("24", "24", "12")),
        day=rng.choice(("iso", "iso", "long")),
        flags=rng.choice(((True, False),) * 3 + (("yes", "no"), ("Yes", "No"))),
    )
    currency = rng.choice(("USD", "USD", "EUR", "GBP"))
    units = _units(schema, currency, rng)
    record: Values = {}
    for table in schema.tables:
        record[table.name] = _rows(table, rng)
    for field in schema.fields:
        record[field.name] = field.kind.draw(rng, record, None)
    null_groups = frozenset(name for name, share in schema.groups.items() if rng.random() < share)
    for table in schema.tables:
        for row in record[table.name]:
            _hide(table.fields, row, frozenset(), rng)
    _hide(schema.fields, record, null_groups, rng)
    return World(
        schema=schema,
        record=record,
        units=units,
        null_groups=null_groups,
        hours=_hours(rng) if schema.hours else {},
        reviews=draw_reviews(schema.reviews, rng) if schema.reviews else (),
        style=style,
    )


def _units(schema: Schema, currency: str, rng: Random) -> dict[str, str]:
    """Choose a unit for each field; fields with the same choice of units share it."""
    chosen: dict[tuple[str, ...], str] = {}
    units = {}
    for prefix, fields in (("", schema.fields), *((f"{t.name}.", t.fields) for t in schema.tables)):
        for field in fields:
            options = field.kind.units
            if options:
                if options not in chosen:
                    chosen[options] = currency if currency in options else rng.choice(options)
                units[prefix + field.name] = chosen[options]
    return units


def _rows(table: Table, rng: Random) -> list[Values]:
    rows: list[Values] = []
    labels: set[Any] = set()
    wanted = rng.randint(*table.size)
    # In some tables all rows agree on a column, so that "all" and "none" are often right too.
    same = [
        field.name
        for field in table.fields
        if isinstance(field.kind, Choice | Flag) and field.name != table.label
    ]
    same = [name for name in same if rng.random() < 0.25]
    while len(rows) < wanted:
        row: Values = {}
        for field in table.fields:
            row[field.name] = field.kind.draw(rng, row, rows[-1] if rows else None)
        row |= {name: rows[0][name] for name in same if rows}
        if row[table.label] not in labels:
            labels.add(row[table.label])
            rows.append(row)
    return rows


def _hide(
    fields: tuple[Field, ...], values: Values, null_groups: frozenset[str], rng: Random
) -> None:
    """Make fields null or absent, each as often as its schema says."""
    for field in fields:
        parents = (field.group.rsplit(".", cut)[0] for cut in range(field.group.count(".") + 1))
        if field.group and any(parent in null_groups for parent in parents):
            del values[field.name]
            continue
        dice = rng.random()
        if dice < field.null:
            values[field.name] = None
        elif dice < field.null + field.absent:
            del values[field.name]


def _hours(rng: Random) -> Hours:
    """Draw a week in which runs of days share their hours."""
    if rng.random() < 0.06:
        return dict.fromkeys(WEEKDAYS, (0, 1440))
    week: Hours = {}
    days = list(WEEKDAYS)
    for length in rng.choice(_WEEK_SHAPES):
        run, days = days[:length], days[length:]
        opens = 30 * rng.randrange(12, 24)
        closes = opens + 30 * rng.randrange(8, 28)
        dice = rng.random()
        if dice < 0.04:
            continue
        shut = dice < 0.35 and length < 3
        week |= dict.fromkeys(run, None if shut else (opens, closes))
    return week
