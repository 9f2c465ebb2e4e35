"""Prompts are text files under version names; training, judging and serving read the same ones.

A template's fields stand in double braces, `{{question}}`. They are filled in one pass, so text that
itself holds `{{answer}}` stays as it is. The judged text stands between marks that are lengthened
until the text does not contain them: what is judged cannot end its own section.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_FIELD = re.compile(r"\{\{(\w+)\}\}")


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
