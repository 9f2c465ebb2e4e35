"""Coined names: syllables that look like names of places and products, but are no one's."""

from __future__ import annotations

import re
from random import Random

_STARTS = [
    "Ald",
    "Bren",
    "Cald",
    "Dorv",
    "Elm",
    "Fenn",
    "Gorv",
    "Hask",
    "Ilv",
    "Jorb",
    "Keld",
    "Lorv",
    "Marv",
    "Nelv",
    "Olm",
    "Pell",
    "Quor",
    "Rusk",
    "Selv",
    "Torv",
    "Ulv",
    "Vant",
    "Wexl",
    "Yarv",
    "Zeld",
    "Brask",
    "Crenn",
    "Drusk",
    "Felb",
    "Grav",
    "Holv",
    "Kest",
    "Lusk",
    "Morv",
    "Narb",
    "Orsk",
    "Prell",
    "Rond",
    "Stelv",
    "Tamb",
    "Verv",
    "Wolb",
    "Zarn",
    "Thald",
    "Skel",
    "Plen",
]
_MIDDLES = [
    "a",
    "e",
    "i",
    "o",
    "u",
    "an",
    "en",
    "or",
    "il",
    "em",
    "ar",
    "ov",
    "ell",
    "is",
    "un",
    "ath",
    "eb",
    "ond",
    "im",
]
_ENDS = [
    "by",
    "dale",
    "ford",
    "mere",
    "wick",
    "ton",
    "rick",
    "sa",
    "via",
    "nor",
    "lo",
    "dra",
    "quist",
    "moor",
    "fell",
    "haven",
    "stad",
    "den",
    "ra",
]
_CHOICE = re.compile(r"\[([^\]]*)\]")


def coin(rng: Random) -> str:
    """Coin one capitalised name, such as `Keldovmere`."""
    middle = rng.choice(_MIDDLES) if rng.random() < 0.7 else ""
    return rng.choice(_STARTS) + middle + rng.choice(_ENDS)


def fill(pattern: str, rng: Random) -> str:
    """Fill a pattern: `[a|b]` is one of its alternatives, `@` a coined name, `#` a digit."""
    text = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), pattern)
    text = re.sub("@", lambda _: coin(rng), text)
    return re.sub("#", lambda _: str(rng.randrange(1, 10)), text)
