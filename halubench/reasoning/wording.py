"""How template traces are worded: several ways to say the same, drawn by seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from random import Random

_SINGLE = str.maketrans('“”"', "‘’'")
_LONGEST = 200  # characters of a quotation

WORDINGS: Mapping[str, list[str]] = json.loads(
    files(__package__).joinpath("wording.json").read_text(encoding="utf-8")
)


def say(rng: Random, what: str, **slots: object) -> str:
    """Return a point in one of its wordings, its first letter a capital."""
    text = rng.choice(WORDINGS[what]).format(**slots)
    return text[0].upper() + text[1:]


def quote(text: str, focus: str = "") -> str:
    """Return a text in quotation marks, on one line; a long one is cut around `focus`."""
    line, focus = _nested(text).strip(" .;,"), _nested(focus)
    if len(line) > _LONGEST:
        centre = max(line.find(focus), 0) + min(len(focus), _LONGEST) // 2
        start = max(0, min(centre - _LONGEST // 2, len(line) - _LONGEST))
        start = line.find(" ", start) + 1 if start else 0
        end = start + _LONGEST
        stop = len(line) if end >= len(line) else max(line.rfind(" ", start, end), start + 1)
        line = ("… " if start else "") + line[start:stop] + (" …" if stop < len(line) else "")
    return f"“{line}”"


def _nested(text: str) -> str:
    """Return a text to quote: single quotation marks inside, plain white space."""
    return " ".join(text.split()).translate(_SINGLE)
