"""Prompts are text files under version names; training, judging and serving read the same ones.

A template's fields stand in double braces, `{{question}}`. They are filled in one pass, so text
that itself holds `{{answer}}` stays as it is. What is judged cannot end its own section: either the
marks around it are lengthened until the text does not contain them; or, where a prompt must stay as
it was published (lynx-v1), lines of the text that forge a mark are quoted (`moonlynx.judge.lynx`).
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_FIELD = re.compile(r"\{\{(\w+)\}\}")
_MARK = re.compile("=+")


@cache
def load_prompt(name: str) -> str:
    """Read the prompt file `name`, for example "lynx-v1"."""
    return files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8").strip()


def fill(template: str, **fields: str) -> str:
    """Put `fields` into the template, in one pass.

    Raises:
        KeyError: the template has a field that was not given.
    """
    return _FIELD.sub(lambda match: fields[match.group(1)], template)


def mark_outside(*texts: str) -> str:
    """Give a mark for the lines between sections that none of the texts holds.

    It is a run of equals signs, one longer than the longest in the texts and at least five.
    """
    longest = max((len(run) for text in texts for run in _MARK.findall(text)), default=0)
    return "=" * max(5, longest + 1)
