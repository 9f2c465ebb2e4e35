"""Reads this package's YAML files, in which blocks hold one phrase to a line."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml


def lines(text: str) -> tuple[str, ...]:
    """Split a block of phrases, one to a line."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())


@cache
def read_yaml(name: str) -> Any:
    """Read a YAML file of this package."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = files(__package__).joinpath("schemas", f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader, in C where there is one
