"""Texts written for this project, in families: of a class, and twins that only sound like it.

All that is made of a family is on one side: what is learned of one is measured on others.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

Families = Mapping[str, Mapping[bool, Sequence[str]]]
Slots = Mapping[str, Sequence[str]]
_FOLDER = Path(__file__).parent


class Twins(NamedTuple):
    """A template of a family, and its twin."""

    family: str
    number: int  # of the template, in its family
    copy: int
    templates: dict[bool, str]  # by whether it is of the class


def read_written(name: str) -> dict[str, Any]:
    """Read a file of families: `slots` that its templates have, and families by kind."""
    import yaml

    path = _FOLDER / f"{name}.yaml"
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def pair(families: Families, copies: int) -> Iterator[Twins]:
    """Yield each template of the class with a twin, so many times."""
    for family, texts in families.items():
        pairs = zip(texts[True], cycle(texts[False]), strict=False)
        for number, (one, twin) in enumerate(pairs):
            for copy in range(copies):
                yield Twins(family, number, copy, {True: one, False: twin})


def fill(template: str, slots: Slots, rng: random.Random) -> str:
    """Fill a template's slots at random; what is put into one may have slots of its own."""
    values = {name: rng.choice(options) for name, options in slots.items()}
    nested = {name: value.format(**values) for name, value in values.items()}
    return template.format(**nested)
