"""Options of judges and backends, read from the text of a judge's name."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..contract.spec import SpecError

Reader = Callable[[str], object]


class UnknownOption(SpecError):
    """An option that its owner does not have."""

    def __init__(self, owner: str, name: str, known: Iterable[str]) -> None:
        self.name, self.known = name, tuple(dict.fromkeys(known))
        has = ", ".join(self.known) or "none"
        super().__init__(f"{owner} has no option {name!r}; it has {has}")


def read_options(
    owner: str, options: Mapping[str, str], readers: Mapping[str, Reader]
) -> dict[str, Any]:
    """Read each option with the reader of its name.

    Raises:
        UnknownOption: names it and those that there are.
        SpecError: an option has a wrong value; names it and what is allowed.
    """
    for name in options:
        if name not in readers:
            raise UnknownOption(owner, name, readers)
    return _read(options, readers)


@contextmanager
def read_own(
    owner: str, options: Mapping[str, str], readers: Mapping[str, Reader]
) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Read the options that have a reader; the others are those of what `owner` is made of.

    Yields:
        The values, and the other options as text. An error in the block about an option that
        does not exist lists those of `owner` too.

    Raises:
        SpecError: an option has a wrong value; names it and what is allowed.
    """
    values = _read({name: options[name] for name in options if name in readers}, readers)
    try:
        yield values, {name: text for name, text in options.items() if name not in readers}
    except UnknownOption as error:
        raise UnknownOption(owner, error.name, (*error.known, *readers)) from None


def _read(options: Mapping[str, str], readers: Mapping[str, Reader]) -> dict[str, Any]:
    values = {}
    for name, text in options.items():
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


preset = one_of("guard", "balanced", "audit")
"""Reader of the names of a calibration's thresholds."""
