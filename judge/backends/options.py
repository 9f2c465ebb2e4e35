"""Options of judges and backends, read from the text of a judge's name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..contract.spec import SpecError


class UnknownOption(SpecError):
    """An option that its owner does not have."""

    def __init__(self, owner: str, name: str, known: Iterable[str]) -> None:
        self.name, self.known = name, tuple(dict.fromkeys(known))
        has = ", ".join(self.known) or "none"
        super().__init__(f"{owner} has no option {name!r}; it has {has}")


@contextmanager
def also_known(owner: str, names: Iterable[str]) -> Iterator[None]:
    """List options that `owner` reads itself in the error about one that its parts do not have."""
    try:
        yield
    except UnknownOption as error:
        raise UnknownOption(owner, error.name, (*error.known, *names)) from None


def read_options(
    owner: str, options: Mapping[str, str], readers: Mapping[str, Callable[[str], object]]
) -> dict[str, Any]:
    """Read each option with the reader of its name.

    Raises:
        UnknownOption: names it and those that there are.
        SpecError: an option has a wrong value; names it and what is allowed.
    """
    values = {}
    for name, text in options.items():
        if name not in readers:
            raise UnknownOption(owner, name, readers)
        try:
            values[name] = readers[name](text)
        except ValueError as error:
            raise SpecError(f"option {name}={text}: {error}") from None
    return values


def whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers of at least `least`."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or int(text) < least:
            raise ValueError(f"must be a whole number of at least {least}")
        return int(text)

    return read


def finite(text: str) -> float:
    """Read a number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("must be a number")
    return value


def share(text: str) -> float:
    """Read a number from 0 to 1."""
    value = finite(text)
    if not 0 <= value <= 1:
        raise ValueError("must be from 0 to 1")
    return value


def seconds(text: str) -> float:
    """Read a time in seconds, above 0."""
    value = finite(text)
    if value <= 0:
        raise ValueError("must be above 0")
    return value


def one_of(*allowed: str) -> Callable[[str], str]:
    """Return a reader of the words allowed."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return text

    return read


def flag(text: str) -> bool:
    """Read "yes" or "no"."""
    return one_of("yes", "no")(text) == "yes"
