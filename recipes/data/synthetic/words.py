"""Coined names: syllables that look like names of places and products, but are no one's."""

from __future__ import annotations

import re
from random import Random

from .yaml_files import read_yaml

_SYLLABLES: dict[str, list[str]] = read_yaml("names")
_CHOICE = re.compile(r"\[([^\]]*)\]")


def coin(rng: Random) -> str:
    """Coin one capitalised name, such as `Keldovmere`."""
    middle = rng.choice(_SYLLABLES["middles"]) if rng.random() < 0.7 else ""
    return rng.choice(_SYLLABLES["starts"]) + middle + rng.choice(_SYLLABLES["ends"])


def fill(pattern: str, rng: Random) -> str:
    """Fill a pattern: `[a|b]` is one of its alternatives, `@` a coined name, `#` a digit."""
    text = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), pattern)
    text = re.sub("@", lambda _: coin(rng), text)
    return re.sub("#", lambda _: str(rng.randrange(1, 10)), text)
