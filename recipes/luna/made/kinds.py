"""Kinds of values: how each is drawn, printed in a record, said in a sentence and told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date as calendar
from random import Random
from typing import Any

from . import numbers
from .words import fill

Values = dict[str, Any]
"""One record or row: field name to value; None for null, no entry where the key is missing."""

_CURRENCIES = ("USD", "EUR", "GBP")


@dataclass(frozen=True)
class Style:
    """How one record is printed.

    Attributes:
        unit: where units stand: in the `key`, in the `text` or in a `pair` of value and unit.
        clock: `24` or `12` hours.
        day: `iso` or `long` dates.
        flags: how yes and no are printed.
    """

    unit: str
    clock: str
    day: str
    flags: tuple[Any, Any]


class Kind:
    """A kind of value. The base draws nothing; `spec` is the field's entry in the schema."""

    units: tuple[str, ...] = ()
    about = False  # whether it can be said in round numbers
    error = "wrong_value"

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec

    def draw(self, rng: Random, row: Values, before: Values | None) -> Any:
        """Draw a value; `row` holds the fields drawn so far, `before` the row above."""
        raise NotImplementedError

    def show(self, value: Any, unit: str, style: Style) -> Any:
        """Give the value as it is printed."""
        return value

    def say(self, value: Any, unit: str, rng: Random) -> str:
        """Give the value as it is written in a sentence."""
        return str(value)

    def apart(self, one: Any, other: Any) -> bool:
        """Tell whether no reader would take one value for the other, even in round numbers."""
        return bool(one != other)


class Number(Kind):
    """A number: `range: [low, high]`, `step`, and perhaps `unit: [kg, lb]` or `money`.

    It may depend on others: `of` a field times `times`, `plus` a field, or the `sum` of a column.
    """

    about = True

    def __init__(self, spec: Mapping[str, Any]) -> None:
        super().__init__(spec)
        self.low, self.high = spec.get("range", (0, 0))
        self.step = spec.get("step", 1)
        self.wide = spec.get("wide", False)
        self.units = _CURRENCIES if spec.get("money") else tuple(spec.get("unit", ()))
        self.about = spec.get("about", True)
        self.places = len(str(self.step).partition(".")[2])

    def draw(self, rng: Random, row: Values, before: Values | None) -> float:
        low, high = self.low, self.high
        if self.wide:  # small values as often as large ones
            value = low * (high / low) ** rng.random()
        else:
            value = low + (high - low) * rng.random()
        if "plus" in self.spec:
            value += row[self.spec["plus"]]
        if "times" in self.spec:
            value *= row[self.spec["times"]]
        if "product" in self.spec:
            one, other = self.spec["product"]
            value = row[one] * row[other]
        if "total" in self.spec:
            table, column = self.spec["total"].split(".")
            value = sum(line[column] for line in row[table])
        if "added" in self.spec:
            value = sum(row[name] for name in self.spec["added"])
        return self.grid(value)

    def grid(self, value: float) -> float:
        """Round to the field's step."""
        near = round(round(value / self.step) * self.step, max(self.places, 0))
        return int(near) if near == int(near) else near

    def show(self, value: float, unit: str, style: Style) -> Any:
        if not unit or style.unit == "key":
            return value
        if style.unit == "pair":
            return {"value": value, "unit": numbers.unit_text(unit)}
        return f"{numbers.digits(value)} {numbers.unit_text(unit)}"

    def say(self, value: float, unit: str, rng: Random) -> str:
        return numbers.amount(value, unit, rng) if unit else numbers.plain(value, rng)

    def apart(self, one: float, other: float) -> bool:
        return abs(one - other) > 0.12 * max(abs(one), abs(other))


class Clock(Kind):
    """A time of day in minutes since midnight.

    `range: [hours, hours]` and `step`, or `after` a field, or after the `end` of the row above.
    """

    error = "wrong_time"

    def draw(self, rng: Random, row: Values, before: Values | None) -> int:
        low, high = (int(60 * hour) for hour in self.spec["range"])
        step = self.spec.get("step", 5)
        value = rng.randrange(low, high + 1, step)
        if "after" in self.spec:
            value += row[self.spec["after"]]
        elif before is not None and "next" in self.spec:
            value = before[self.spec["next"]] + rng.choice(self.spec["gap"])
        return int(value)

    def show(self, value: int, unit: str, style: Style) -> str:
        hour, rest = divmod(value % 1440, 60)
        if style.clock == "24":
            return f"{hour:02d}:{rest:02d}"
        return f"{hour % 12 or 12}:{rest:02d} {'AM' if hour < 12 else 'PM'}"

    def say(self, value: int, unit: str, rng: Random) -> str:
        return numbers.clock(value, rng)

    def apart(self, one: int, other: int) -> bool:
        return (one - other) % 1440 != 0


class Day(Kind):
    """A date: `range: [first year, last year]`, or some days `after` another date."""

    error = "wrong_time"

    def draw(self, rng: Random, row: Values, before: Values | None) -> int:
        if "after" in self.spec:
            low, high = self.spec["days"]
            return int(row[self.spec["after"]]) + rng.randint(low, high)
        first, last = self.spec["range"]
        return rng.randrange(calendar(first, 1, 1).toordinal(), calendar(last + 1, 1, 1).toordinal())

    def show(self, value: int, unit: str, style: Style) -> str:
        day = calendar.fromordinal(value)
        if style.day == "iso":
            return day.isoformat()
        return f"{day.day} {numbers.MONTHS[day.month - 1][:3]} {day.year}"

    def say(self, value: int, unit: str, rng: Random) -> str:
        return numbers.date(value, rng)


class Span(Kind):
    """A length of time in minutes: `range` and `step`, or `between: [start, end]` of two fields."""

    units = ("min",)

    def draw(self, rng: Random, row: Values, before: Values | None) -> int:
        if "between" in self.spec:
            start, end = self.spec["between"]
            return int(row[end] - row[start])
        low, high = self.spec["range"]
        return rng.randrange(low, high + 1, self.spec.get("step", 5))

    def show(self, value: int, unit: str, style: Style) -> Any:
        if style.unit == "key":
            return value
        hours, rest = divmod(value, 60)
        return f"{hours}h {rest:02d}m" if hours else f"{rest} min"

    def say(self, value: int, unit: str, rng: Random) -> str:
        return numbers.length(value, rng)


class Choice(Kind):
    """One of `options`: texts, or a mapping from what is printed to what is said.

    What is said may be several ways, parted by ` | `.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        super().__init__(spec)
        options = spec["options"]
        self.said = {key: str(options[key]).split(" | ") for key in options} if isinstance(
            options, dict
        ) else {option: [option] for option in options}
        self.options = tuple(self.said)
        self.sequence = spec.get("sequence", False)

    def draw(self, rng: Random, row: Values, before: Values | None) -> Any:
        if self.sequence and before is not None:
            at = self.options.index(before[self.spec["name"]]) + 1
            return self.options[at % len(self.options)]
        return rng.choice(self.options)

    def say(self, value: Any, unit: str, rng: Random) -> str:
        return rng.choice(self.said[value])


class Name(Kind):
    """A coined name after one of the `patterns`."""

    error = "wrong_entity"

    def draw(self, rng: Random, row: Values, before: Values | None) -> str:
        return fill(rng.choice(self.spec["patterns"]), rng)


class Flag(Kind):
    """Yes or no; `yes` is the share of yes."""

    error = "flipped"

    def draw(self, rng: Random, row: Values, before: Values | None) -> bool:
        return rng.random() < self.spec.get("yes", 0.5)

    def show(self, value: bool, unit: str, style: Style) -> Any:
        return style.flags[0] if value else style.flags[1]


class Band(Kind):
    """Where a number lies against two others: `low`, `normal` or `high`. Not printed."""

    def draw(self, rng: Random, row: Values, before: Values | None) -> str:
        value, low, high = (row[name] for name in self.spec["of"])
        return "low" if value < low else "high" if value > high else "normal"


class Some(Kind):
    """A list: between `size` of the `options`, each once."""

    error = "invented_attribute"

    def draw(self, rng: Random, row: Values, before: Values | None) -> list[str]:
        low, high = self.spec["size"]
        return rng.sample(self.spec["options"], rng.randint(low, high))


KINDS: dict[str, type[Kind]] = {
    "number": Number,
    "clock": Clock,
    "day": Day,
    "span": Span,
    "choice": Choice,
    "name": Name,
    "flag": Flag,
    "band": Band,
    "some": Some,
}
