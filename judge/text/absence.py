"""What a record says there is, and what it says there is not.

An encoder of words takes `garage: no`, among other flags, for a garage. So what there is not is
said by a line of its own, which is read with those claims alone that speak of it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from .literals import Entry, Members, Scalar
from .members import (
    currency_of,
    flag,
    member_name,
    say_absent,
    unwrapped,
    with_currency,
    yes_or_no,
)
from .tokens import stems_of

_WORDS = 8  # of a sentence that only denies, at most
_DENIAL = re.compile(
    r"^no\b|\b(?:there (?:is|are|was|were)|has|have|had) no\b|\b(?:cannot|won['’]t)\b"
    r"|\b(?:is|are|was|were|do|does|did|has|have|can|could|will|would|may|must|need)"
    r"(?:n?['’]t| not)\b",
    re.IGNORECASE,
)


class Line(NamedTuple):
    """What is said at [start, end) of a text."""

    start: int
    end: int
    text: str
    # of a line that says what there is not: the stems that tell it from what is beside it
    absent: frozenset[str] = frozenset()


def take_absent(record: Members) -> tuple[Members, list[Line]]:
    """Split a record into what there is, sums of money with their currency, and what there is not.

    Null and an empty text say neither.
    """
    lines: list[Line] = []
    return _present(record, "", "", lines), lines


def denied_stems(sentence: str) -> frozenset[str]:
    """Return the stems of what a short sentence denies, `Pets are not allowed.`; else none."""
    is_short = len(sentence.split()) <= _WORDS and ":" not in sentence
    denies = is_short and _DENIAL.search(sentence.strip())
    return frozenset(stems_of(sentence)) if denies else frozenset()


def _present(members: Members, path: str | None, currency: str, lines: list[Line]) -> Members:
    """Return the members that say what there is.

    Args:
        members: of a record, or a list.
        path: the keys that lead to it; None in a list of several, whose members all stay, as a line
            of its own would not say which of them it is about.
        currency: of the records around it; may be empty.
        lines: takes what there is not.
    """
    wrapped = [unwrapped(entry) for entry in members.entries]
    names = [
        pair[1] if pair and not entry.key else member_name(entry)
        for entry, pair in zip(members.entries, wrapped, strict=True)
    ]
    currency = currency_of(members, names) or currency
    entries: list[Entry] = []
    missing: list[int] = []
    for index, (entry, name, pair) in enumerate(zip(members.entries, names, wrapped, strict=True)):
        value, before = entry.value, len(lines)
        kept: Scalar | Members = value
        if isinstance(value, Scalar):
            if currency:
                kept = replace(value, value=with_currency(name, value.value, currency))
            empty = not value.value.strip()
            absent = flag(name, value.value.strip()) is False
        else:
            alone = path is not None and (members.keyed or len(names) == 1)
            kept = _present(value, f"{path} {name}".strip() if alone else None, currency, lines)
            empty = not kept.entries and bool(value.entries)
            absent = (empty and len(lines) > before) or _is_missing(pair)
        if path is not None and name and absent:
            missing.append(index)
        elif not empty:
            entries.append(entry._replace(value=kept))
    telling = telling_stems(names) if missing else []
    for index in missing:
        start, end = members.entries[index].start, members.entries[index].value.end
        lines.append(Line(start, end, say_absent(names[index], path or ""), telling[index]))
    return replace(members, entries=entries)


def _is_missing(feature: tuple[Entry, str] | None) -> bool:
    """Return whether it is such as `{"name": "pool", "available": false}`."""
    value = feature and feature[0].value
    return isinstance(value, Scalar) and yes_or_no(value.value.strip()) is False


def telling_stems(names: Sequence[str]) -> list[frozenset[str]]:
    """Return the stems by which a claim speaks of each name: its own, or all where it has none."""
    stems = [frozenset(stems_of(name)) or frozenset({name}) for name in names]
    counts = Counter(stem for each in stems for stem in each)
    return [frozenset(s for s in each if counts[s] == 1) or each for each in stems]
