"""Times of day, dates and lengths of time."""

from datetime import date as calendar
from random import Random
from typing import Any

from typing_extensions import override

from . import numbers
from .kind import Kind, Style, Values


class _Measured(Kind):
    """A kind whose values fit any field of the same kind and unit."""

    @override
    def alike(self, other: Kind) -> bool:
        return type(other) is type(self)


class Clock(_Measured):
    """A time of day in minutes since midnight.

    `range: [hours, hours]` and `step`, or `after` a field, or after the `end` of the row above.
    """

    error = "wrong_time"

    @override
    def draw(self, rng: Random, row: Values, before: Values | None) -> int:
        low, high = (int(60 * hour) for hour in self.spec["range"])
        step = self.spec.get("step", 5)
        value = rng.randrange(low, high + 1, step)
        if "after" in self.spec:
            value += row[self.spec["after"]]
        elif before is not None and "next" in self.spec:
            value = before[self.spec["next"]] + rng.choice(self.spec["gap"])
        return int(value)

    @override
    def show(self, value: int, unit: str, style: Style) -> str:
        hour, rest = divmod(value % 1440, 60)
        if style.clock == "24":
            return f"{hour:02d}:{rest:02d}"
        return f"{hour % 12 or 12}:{rest:02d} {'AM' if hour < 12 else 'PM'}"

    @override
    def say(self, value: int, unit: str, rng: Random) -> str:
        return numbers.clock(value, rng)

    @override
    def differs(self, one: int, other: int) -> bool:
        return (one - other) % 1440 != 0


class Day(_Measured):
    """A date: `range: [first year, last year]`, or some days `after` another date."""

    error = "wrong_time"

    @override
    def draw(self, rng: Random, row: Values, before: Values | None) -> int:
        if "weeks" in self.spec:  # the last day of a course that lasts so long
            return int(row[self.spec["after"]]) + 7 * int(row[self.spec["weeks"]]) - 3
        if "after" in self.spec:
            low, high = self.spec["days"]
            return int(row[self.spec["after"]]) + rng.randint(low, high)
        first, last = self.spec["range"]
        return rng.randrange(
            calendar(first, 1, 1).toordinal(), calendar(last + 1, 1, 1).toordinal()
        )

    @override
    def show(self, value: int, unit: str, style: Style) -> str:
        day = calendar.fromordinal(value)
        if style.day == "iso":
            return day.isoformat()
        return f"{day.day} {numbers.MONTHS[day.month - 1][:3]} {day.year}"

    @override
    def say(self, value: int, unit: str, rng: Random) -> str:
        return numbers.date(value, rng)


class Span(_Measured):
    """A length of time in minutes: `range` and `step`, or `between: [start, end]` of two fields."""

    units = ("min",)
    about = True

    @override
    def draw(self, rng: Random, row: Values, before: Values | None) -> int:
        if "between" in self.spec:
            start, end = self.spec["between"]
            return int(row[end] - row[start])
        low, high = self.spec["range"]
        return rng.randrange(low, high + 1, self.spec.get("step", 5))

    @override
    def other(self, value: int | None, rng: Random, row: Values) -> int:
        if value is None or "between" not in self.spec:
            return self.draw(rng, row, None)
        shift = rng.choice((15, 20, 30, 45, 60, 60, 90, 120))
        return value - shift if shift < value and rng.random() < 0.5 else value + shift

    @override
    def show(self, value: int, unit: str, style: Style) -> Any:
        if style.unit == "key":
            return value
        hours, rest = divmod(value, 60)
        return f"{hours}h {rest:02d}m" if hours else f"{rest} min"

    @override
    def say(self, value: int, unit: str, rng: Random) -> str:
        return numbers.length(value, rng)

    @override
    def say_roughly(self, value: int, unit: str, rng: Random) -> str | None:
        near = round(value / 30) * 30
        if near == 0 or abs(value - near) > 5:
            return None
        return f"{numbers.hedge(value, near, rng)} {numbers.length(near, rng)}"

    @override
    def apart(self, one: int, other: int) -> bool:
        return abs(one - other) > 15
