"""This package's YAML files, blocks of phrases, and coined names, which are no one's."""

import re
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

_CHOICE = re.compile(r"\[([^\]]*)\]")


def lines(text: str) -> tuple[str, ...]:
    """Split a block of phrases, one to a line."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())


@cache
def read_yaml(name: str) -> Any:
    """Read a YAML file of this package."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = files(__package__).joinpath("schemas", f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader, in C where there is one


_SYLLABLES: dict[str, list[str]] = read_yaml("names")


def coin(rng: Random) -> str:
    """Coin one capitalised name, such as `Keldovmere`."""
    middle = rng.choice(_SYLLABLES["middles"]) if rng.random() < 0.7 else ""
    return rng.choice(_SYLLABLES["starts"]) + middle + rng.choice(_SYLLABLES["ends"])


def fill(pattern: str, rng: Random) -> str:
    """Fill a pattern: `[a|b]` is one of its alternatives, `@` a coined name, `#` a digit."""
    text = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), pattern)
    text = re.sub("@", lambda _: coin(rng), text)
    return re.sub("#", lambda _: str(rng.randrange(1, 10)), text)
