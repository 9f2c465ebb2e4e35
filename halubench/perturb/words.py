"""The words that the rules look for, from words.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml

WORDS: Mapping[str, Any] = yaml.safe_load(
    files(__package__).joinpath("words.yaml").read_text(encoding="utf-8")
)


def listed(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(WORDS[name].split())


def any_of(name: str) -> str:
    """Return a list as the alternatives of a regular expression, in its order."""
    return "|".join(word.replace("_", " ") for word in WORDS[name].split())
