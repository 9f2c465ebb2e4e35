"""Numbers, texts, names, flags and lists, and the table of all kinds of values."""

from collections.abc import Mapping
from random import Random
from typing import Any

from typing_extensions import override

from . import numbers
from .kind import Kind, Style, Values
from .kinds_time import Clock, Day, Span
from .words import fill

_CURRENCIES = ("USD", "EUR", "GBP")


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

    @override
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

    @override
    def alike(self, other: Kind) -> bool:
        return super().alike(other) or (bool(self.units) and self.units == other.units)

    @override
    def grid(self, value: float) -> float:
        near = round(round(value / self.step) * self.step, self.places)
        return int(near) if near == int(near) else near

    @override
    def other(self, value: float | None, rng: Random, row: Values) -> float:
        if value is None or not {"total", "added", "product"} & self.spec.keys():
            return self.draw(rng, row, None)
        return self.grid(value * rng.choice((0.4, 0.6, 0.75, 0.9, 1.1, 1.3, 1.6)))

    @override
    def show(self, value: float, unit: str, style: Style) -> Any:
        if not unit or style.unit == "key":
            return value
        if style.unit == "pair":
            return {"value": value, "unit": numbers.unit_text(unit)}
        return f"{numbers.digits(value)} {numbers.unit_text(unit)}"

    @override
    def say(self, value: float, unit: str, rng: Random) -> str:
        if self.year:
            return str(value)
        if "scale" in self.spec:
            return numbers.large(value, self.spec["scale"], unit, rng)
        return numbers.amount(value, unit, rng) if unit else numbers.plain(value, rng)

    @override
    def say_roughly(self, value: float, unit: str, rng: Random) -> str | None:
        if abs(value) < 20 and value == int(value):
            return None
        near = numbers.rounded(value, rng)
        return None if near is None else f"{near[1]} {self.say(near[0], unit, rng)}"

    @override
    def differs(self, one: float, other: float) -> bool:
        # No one takes $51 for a wrong statement of $50.76.
        least = 0.0 if self.step >= 1 and not self.units else 0.04
        return abs(one - other) > least * max(abs(one), abs(other))

    @override
    def apart(self, one: float, other: float) -> bool:
        return abs(one - other) > 0.12 * max(abs(one), abs(other))


class Choice(Kind):
    """One of `options`: texts, or a mapping from what is printed to what is said.

    What is said may be several ways, separated by ` | `.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        super().__init__(spec)
        options = spec["options"]
        self.said = (
            {key: str(options[key]).split(" | ") for key in options}
            if isinstance(options, dict)
            else {option: [option] for option in options}
        )
        self.options = tuple(self.said)
        self.sequence = spec.get("sequence", False)

    @override
    def draw(self, rng: Random, row: Values, before: Values | None) -> Any:
        if self.sequence and before is not None:
            at = self.options.index(before[self.spec["name"]]) + 1
            return self.options[at % len(self.options)]
        if self.sequence == "start":
            return self.options[0]
        return rng.choice(self.options)

    @override
    def say(self, value: Any, unit: str, rng: Random) -> str:
        return str(rng.choice(self.said[value]))


class Name(Kind):
    """A coined name after one of the `patterns`."""

    error = "wrong_entity"

    @override
    def draw(self, rng: Random, row: Values, before: Values | None) -> str:
        return fill(rng.choice(self.spec["patterns"]), rng)


class Flag(Kind):
    """Yes or no; `share` is how often it is yes."""

    error = "flipped"

    @override
    def draw(self, rng: Random, row: Values, before: Values | None) -> bool:
        return bool(rng.random() < self.spec.get("share", 0.5))

    @override
    def show(self, value: bool, unit: str, style: Style) -> Any:
        return style.flags[0] if value else style.flags[1]


class Band(Kind):
    """Where a number is relative to two others: `low`, `normal` or `high`. Not printed."""

    @override
    def draw(self, rng: Random, row: Values, before: Values | None) -> str:
        value, low, high = (row[name] for name in self.spec["of"])
        return "low" if value < low else "high" if value > high else "normal"


class Some(Kind):
    """A list: between `size` of the `options`, each once."""

    error = "invented_attribute"

    @override
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
