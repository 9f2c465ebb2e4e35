"""What was changed between two texts: ranges of words, exact in characters."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

from .records import Edited

# A number is one piece, with its separators, and so is a word; all else is one piece by itself.
_PIECE = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|\s+|.", re.DOTALL)


class Difference(NamedTuple):
    """Half-open ranges of two texts that take each other's place; one of them may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def differences(old: str, new: str) -> list[Difference]:
    """Return the differences in order; two are separated by a word that both texts share."""
    pieces = _PIECE.findall(old), _PIECE.findall(new)
    before, after = ([0, *accumulate(map(len, each))] for each in pieces)
    found: list[Difference] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, *pieces, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        here = Difference(before[i1], before[i2], after[j1], after[j2])
        if found and not old[found[-1].old_end : here.old_start].strip():
            here = Difference(
                found[-1].old_start, here.old_end, found.pop().new_start, here.new_end
            )
        found.append(here)
    return found


def edits_between(old: str, new: str) -> tuple[Edited, ...]:
    """Return the edits that made `new` of `old`; undone, they restore `old`."""
    return tuple(
        Edited(start=each.new_start, end=each.new_end, old=old[each.old_start : each.old_end])
        for each in differences(old, new)
    )
