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

    def alike(self, other: Kind) -> bool:
        """Tell whether the values of both could stand in each other's place."""
        like = self.spec.get("like")
        return type(other) is type(self) and other.spec.get("like") == like and like is not None

    def draw(self, rng: Random, row: Values, before: Values | None) -> Any:
        """Draw a value; `row` holds the fields drawn so far, `before` the row above."""
        raise NotImplementedError

    def other(self, value: Any, rng: Random, row: Values) -> Any:
        """Draw a value for a wrong claim; `value` is the right one or None."""
        return self.draw(rng, row, None)

    def show(self, value: Any, unit: str, style: Style) -> Any:
        """Give the value as it is printed."""
        return value

    def say(self, value: Any, unit: str, rng: Random) -> str:
        """Give the value as it is written in a sentence."""
        return str(value)

    def say_roughly(self, value: Any, unit: str, rng: Random) -> str | None:
        """Give the value in round numbers, or None where that would be odd."""
        return None

    def differs(self, one: Any, other: Any) -> bool:
        """Tell whether a claim of one value is wrong where the other is right."""
        return bool(one != other)

    def grid(self, value: float) -> float:
        """Round a number that was worked out from values of this kind."""
        return value

    def apart(self, one: Any, other: Any) -> bool:
        """Tell whether it is wrong even in round numbers."""
        return self.differs(one, other)


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
        self.year = spec.get("year", False)
        self.about = spec.get("about", not self.year)
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

    def alike(self, other: Kind) -> bool:
        return super().alike(other) or (bool(self.units) and self.units == other.units)

    def grid(self, value: float) -> float:
        near = round(round(value / self.step) * self.step, max(self.places, 0))
        return int(near) if near == int(near) else near

    def other(self, value: float | None, rng: Random, row: Values) -> float:
        if value is None or not {"total", "added", "product"} & self.spec.keys():
            return self.draw(rng, row, None)
        return self.grid(value * rng.choice((0.4, 0.6, 0.75, 0.9, 1.1, 1.3, 1.6)))

    def show(self, value: float, unit: str, style: Style) -> Any:
        if not unit or style.unit == "key":
            return value
        if style.unit == "pair":
            return {"value": value, "unit": numbers.unit_text(unit)}
        return f"{numbers.digits(value)} {numbers.unit_text(unit)}"

    def say(self, value: float, unit: str, rng: Random) -> str:
        if self.year:
            return str(value)
        if "scale" in self.spec:
            return numbers.large(value, self.spec["scale"], unit, rng)
        return numbers.amount(value, unit, rng) if unit else numbers.plain(value, rng)

    def say_roughly(self, value: float, unit: str, rng: Random) -> str | None:
        if abs(value) < 20 and value == int(value):
            return None
        near = numbers.rounded(value, rng)
        return None if near is None else f"{near[1]} {self.say(near[0], unit, rng)}"

    def differs(self, one: float, other: float) -> bool:
        # Nobody takes $51 for a wrong statement of $50.76.
        least = 0.0 if self.step >= 1 and not self.units else 0.04
        return abs(one - other) > least * max(abs(one), abs(other))

    def apart(self, one: float, other: float) -> bool:
        return abs(one - other) > 0.12 * max(abs(one), abs(other))


class _Measured(Kind):
    """A kind whose values fit any field of the same kind and unit."""

    def alike(self, other: Kind) -> bool:
        return type(other) is type(self)


class Clock(_Measured):
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

    def differs(self, one: int, other: int) -> bool:
        return (one - other) % 1440 != 0


class Day(_Measured):
    """A date: `range: [first year, last year]`, or some days `after` another date."""

    error = "wrong_time"

    def draw(self, rng: Random, row: Values, before: Values | None) -> int:
        if "weeks" in self.spec:  # the last day of a course that lasts so long
            return int(row[self.spec["after"]]) + 7 * int(row[self.spec["weeks"]]) - 3
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


class Span(_Measured):
    """A length of time in minutes: `range` and `step`, or `between: [start, end]` of two fields."""

    units = ("min",)
    about = True

    def draw(self, rng: Random, row: Values, before: Values | None) -> int:
        if "between" in self.spec:
            start, end = self.spec["between"]
            return int(row[end] - row[start])
        low, high = self.spec["range"]
        return rng.randrange(low, high + 1, self.spec.get("step", 5))

    def other(self, value: int | None, rng: Random, row: Values) -> int:
        if value is None or "between" not in self.spec:
            return self.draw(rng, row, None)
        shift = rng.choice((15, 20, 30, 45, 60, 60, 90, 120))
        return value - shift if shift < value and rng.random() < 0.5 else value + shift

    def show(self, value: int, unit: str, style: Style) -> Any:
        if style.unit == "key":
            return value
        hours, rest = divmod(value, 60)
        return f"{hours}h {rest:02d}m" if hours else f"{rest} min"

    def say(self, value: int, unit: str, rng: Random) -> str:
        return numbers.length(value, rng)

    def say_roughly(self, value: int, unit: str, rng: Random) -> str | None:
        near = round(value / 30) * 30
        if near == 0 or abs(value - near) > 5:
            return None
        return f"{numbers.hedge(value, near, rng)} {numbers.length(near, rng)}"

    def apart(self, one: int, other: int) -> bool:
        return abs(one - other) > 15


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
        if self.sequence == "start":
            return self.options[0]
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
