"""Texts as HTML: escaped, and cut where marked ranges begin and end."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

# Gradio reads what it shows as a template, so its signs must not come through either.
_TEMPLATE_SIGNS = str.maketrans({"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;"})


class Piece(NamedTuple):
    """A stretch of text that no range begins or ends in, and the indices of those around it."""

    text: str
    ranges: tuple[int, ...]


def escape(text: str) -> str:
    """Escape a text for use between tags, and in an attribute between quotes."""
    return html.escape(text).translate(_TEMPLATE_SIGNS)


def cut(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """Cut a text at the ends of ranges, which may overlap; the pieces put together are the text."""
    ends = {min(end, len(text)) for one in ranges for end in one}
    for start, end in pairwise(sorted({0, len(text)} | ends)):
        around = (i for i, one in enumerate(ranges) if one[0] <= start and end <= one[1])
        yield Piece(text[start:end], tuple(around))
