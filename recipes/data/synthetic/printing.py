"""Prints a record as a program would: JSON, a Python literal, CSV or a table with pipes."""

import csv
import io
import json
from collections.abc import Callable
from random import Random
from typing import Any

from .kind import Values
from .numbers import UNIT_KEYS, WEEKDAYS
from .schema import Field, Table
from .world import World

_CASES: tuple[Callable[[str], str], ...] = (
    lambda words: words.replace(" ", "_"),
    lambda words: words.replace(" ", "_"),
    lambda words: words.split(" ")[0] + "".join(w.capitalize() for w in words.split(" ")[1:]),
    lambda words: "".join(word.capitalize() for word in words.split(" ")),
    lambda words: words.capitalize(),
    lambda words: words,
)
FORMS = ("pretty", "compact", "line", "python", "csv", "pipes")


def print_world(world: World, rng: Random) -> tuple[str, str]:
    """Return the text of a record and its form, one of `FORMS`."""
    tree = _tree(world, rng)
    form = rng.choice(("pretty", "pretty", "compact", "line", "line", "python", "csv", "pipes"))
    if form == "pretty":
        return json.dumps(tree, indent=rng.choice((2, 4)), ensure_ascii=False), form
    if form == "compact":
        return json.dumps(tree, separators=(",", ":"), ensure_ascii=False), form
    if form == "line":
        return json.dumps(tree, ensure_ascii=rng.random() < 0.3), form
    if form == "python":
        return repr(tree), form
    return _tables(tree, form, rng), form


def _tree(world: World, rng: Random) -> dict[str, Any]:
    case = rng.choice(_CASES)
    flat = rng.random() < 0.25
    keys = {field.name: rng.choice(field.keys) for field in world.schema.fields}
    tree: dict[str, Any] = {}
    for group in sorted(world.null_groups):
        if group.rpartition(".")[0] in world.null_groups:
            continue
        _place(tree, group, case, None, flat)
    for field in world.schema.fields:
        if not field.hidden and field.name in world.record:
            key, value = _entry(world, None, field, world.record, keys[field.name])
            _place(tree, f"{field.group}.{key}" if field.group else key, case, value, flat)
    if world.hours:
        tree[case(rng.choice(("hours", "opening hours", "business hours")))] = _week(world, rng)
    for table in world.schema.tables:
        names = {field.name: rng.choice(field.keys) for field in table.fields}
        tree[case(rng.choice(table.keys))] = [
            _row(world, table, row, names, case) for row in world.record[table.name]
        ]
    if world.reviews:
        stars, text = rng.choice(
            (("stars", "text"), ("rating", "comment"), ("score", "review text"))
        )
        tree[case(rng.choice(("reviews", "customer reviews", "review info")))] = [
            {case(stars): review.stars, case(text): review.text} for review in world.reviews
        ]
    return tree


def _entry(
    world: World, table: Table | None, field: Field, values: Values, key: str
) -> tuple[str, Any]:
    """Return the words of a field's key and its value as printed."""
    unit = world.unit(table, field)
    if unit and world.style.unit == "key":
        key = f"{key} {UNIT_KEYS.get(unit, unit.lower())}"
    value = values[field.name]
    return key, None if value is None else field.kind.show(value, unit, world.style)


def _row(
    world: World,
    table: Table,
    row: Values,
    names: dict[str, str],
    case: Callable[[str], str],
) -> dict[str, Any]:
    entries = (
        _entry(world, table, field, row, names[field.name])
        for field in table.fields
        if not field.hidden and field.name in row
    )
    return {case(key): value for key, value in entries}


def _place(
    tree: dict[str, Any], path: str, case: Callable[[str], str], value: Any, flat: bool
) -> None:
    """Put a value under a path of groups, or under one key that joins them."""
    *groups, key = path.split(".")
    if flat:
        tree[".".join(case(part) for part in (*groups, key))] = value
        return
    for group in groups:
        tree = tree.setdefault(case(group), {})
    tree[case(key)] = value


def _week(world: World, rng: Random) -> dict[str, Any]:
    """Print opening hours, one entry a day."""
    pair = rng.random() < 0.3
    dash = rng.choice(("-", " - ", "–"))
    short = rng.random() < 0.3
    shut = rng.choice(("closed", "Closed", "CLOSED"))
    twelve = world.style.clock == "12"

    def time(minute: int) -> str:
        hour, rest = divmod(minute, 60)
        if twelve:
            return f"{(hour % 12) or 12}:{rest:02d} {'AM' if hour % 24 < 12 else 'PM'}"
        return f"{hour % 24 if hour != 24 else 24:02d}:{rest:02d}"

    week: dict[str, Any] = {}
    for day in WEEKDAYS:
        if day in world.hours:
            times = world.hours[day]
            key = day[:3] if short else day
            if times is None:
                week[key] = shut
            elif pair:
                week[key] = {"open": time(times[0]), "close": time(times[1])}
            else:
                week[key] = f"{time(times[0])}{dash}{time(times[1])}"
    return week


def _tables(tree: dict[str, Any], form: str, rng: Random) -> str:
    """Print lists of rows as tables and all else as `key: value` lines before them."""
    nothing = rng.choice(("", "-", "n/a", "null"))
    head: list[str] = []
    tables: list[str] = []
    for key, value in _flat(tree):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            tables.append(f"{key}\n{_grid(value, form, nothing)}")
        else:
            head.append(f"{key}: {_cell(value, nothing)}".rstrip())
    return "\n\n".join(["\n".join(head), *tables])


def _flat(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    entries: list[tuple[str, Any]] = []
    for key, value in tree.items():
        if isinstance(value, dict):
            entries += _flat(value, f"{prefix}{key}.")
        else:
            entries.append((prefix + key, value))
    return entries


def _cell(value: Any, nothing: str) -> str:
    if value is None:
        return nothing
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(str(item) for item in value)
    return str(value)


def _grid(rows: list[dict[str, Any]], form: str, nothing: str) -> str:
    flat = [dict(_flat(row)) for row in rows]
    columns = list(dict.fromkeys(key for row in flat for key in row))
    cells = [[_cell(row.get(column), nothing) for column in columns] for row in flat]
    if form == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([columns, *cells])
        return text.getvalue().rstrip("\n")
    rule = ["---"] * len(columns)
    return "\n".join("| " + " | ".join(line) + " |" for line in (columns, rule, *cells))
