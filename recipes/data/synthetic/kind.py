"""What a kind of value is: drawn, printed in a record, said in a sentence and told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

Values = dict[str, Any]
"""One record or row: field name to value; None for null, no entry where the key is missing."""


@dataclass(frozen=True)
class Style:
    """How one record is printed.

    Units are in the `key`, the `text` or a `pair` of value and unit; the clock has 24 or 12 hours;
    dates are `iso` or `long`; flags are yes and no as they are written.
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
        """Return whether the values of both are interchangeable."""
        like = self.spec.get("like")
        return type(other) is type(self) and other.spec.get("like") == like and like is not None

    def draw(self, rng: Random, row: Values, before: Values | None) -> Any:
        """Draw a value; `row` holds the fields drawn so far, `before` the row above."""
        raise NotImplementedError

    def other(self, value: Any, rng: Random, row: Values) -> Any:  # noqa: ARG002
        """Draw a value for a wrong claim; `value` is the right one or None."""
        return self.draw(rng, row, None)

    def show(self, value: Any, unit: str, style: Style) -> Any:  # noqa: ARG002
        """Return the value as it is printed."""
        return value

    def say(self, value: Any, unit: str, rng: Random) -> str:  # noqa: ARG002
        """Return the value as it is written in a sentence."""
        return str(value)

    def say_roughly(self, value: Any, unit: str, rng: Random) -> str | None:  # noqa: ARG002
        """Return the value in round numbers, or None where that would be odd."""
        return None

    def differs(self, one: Any, other: Any) -> bool:
        """Return whether a claim of one value is wrong where the other is right."""
        return bool(one != other)

    def grid(self, value: float) -> float:
        """Round a number that was computed from values of this kind."""
        return value

    def apart(self, one: Any, other: Any) -> bool:
        """Return whether it is wrong even in round numbers."""
        return self.differs(one, other)
