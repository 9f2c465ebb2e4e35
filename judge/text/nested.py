"""Turn an object or list into lines that each say by their key path what they are about.

A line is the path and then members of one object, `hours Monday: 9:00 to 17:00; Tuesday: …`; what
is small stays whole on one line, what is large is taken apart, and long texts go by sentence.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .literals import Entry, Members, Scalar
from .sentences import Piece, split_sentences

_LINE = 40  # words on a line at most, where it can be split
_WHOLE = 48  # words of a record that stays whole
_SMALL = 8  # words of an object that is beside others on a line
_LABEL = 6  # words in a record's name at most
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINTS = re.compile(r"[_\s]+|(?<=\w)-(?=\w)")
_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2})-(\d{1,2}):(\d{1,2})")
_NAMES = frozenset({"name", "title", "label", "category", "key", "field", "property", "attribute"})
_VALUES = frozenset({"value", "values", "val"})


class _Part(NamedTuple):
    """What one member says, and the range of the text that it is in."""

    start: int
    end: int
    text: str


def record_lines(record: Members) -> Iterator[Piece]:
    """Yield the record's lines in order: what each says, and its place in the text."""
    for line in _lines(record, ""):
        text = _plain(line.text)
        yield Piece(line.start, line.end, text if text.endswith((".", "!", "?")) else f"{text}.")


def spell_key(key: str) -> str:
    """Write a key as words: `good_for`, `goodFor` and `GoodFor` are "good for"."""
    plain = key.strip()
    if " " in plain:
        return plain
    spelled = _JOINTS.sub(" ", plain)
    parts = _CAMEL.sub(" ", spelled)
    return parts if parts == spelled else parts.lower()


def _plain(text: str) -> str:
    return " ".join(text.split())


def _lines(members: Members, path: str) -> Iterator[_Part]:
    whole = _inline_members(members, path)
    if whole is not None:
        yield _Part(members.start, members.end, whole)
        return
    group: list[_Part] = []
    for entry, name in _named(members, path):
        part = _small_part(entry, name)
        if group and (part is None or _length(group) + len(part.text.split()) > _LINE):
            yield _join(group, path)
            group = []
        if part is not None:
            group.append(part)
        else:
            yield from _large(entry, f"{path} {name}".strip())
    if group:
        yield _join(group, path)


def _small_part(entry: Entry, name: str) -> _Part | None:
    """Return a member as it is written beside others; None for what needs lines of its own."""
    value = entry.value
    simple = isinstance(value, Scalar) or (_only_scalars(value) and not value.keyed)
    said = _inline(entry, name, _LINE if simple else _SMALL)
    return None if said is None else _Part(entry.start, value.end, said)


def _large(entry: Entry, path: str) -> Iterator[_Part]:
    value = entry.value
    if isinstance(value, Members):
        yield from _lines(value, path)
        return
    for sentence in split_sentences(value.value):
        start, end = value.place(sentence.start), value.place(sentence.end - 1) + 1
        yield _Part(start, end, _keyed(path, sentence.text))


def _length(group: list[_Part]) -> int:
    return sum(len(part.text.split()) for part in group)


def _join(group: list[_Part], path: str) -> _Part:
    text = "; ".join(part.text for part in group)
    return _Part(group[0].start, group[-1].end, f"{path} {text}".strip())


def _inline_members(members: Members, path: str) -> str | None:
    """Return all of `members` as one line; None where it is too long, or a list of records."""
    if not members.entries:
        return _keyed(path, "none")
    if not members.keyed and _only_scalars(members):
        return _inline(Entry(members.start, "", members), path, _WHOLE)
    if not members.keyed and len(members.entries) > 1:
        return None
    text = _inline_all(members, path, "; ", _WHOLE)
    return None if text is None else f"{path} {text}".strip()


def _inline(entry: Entry, name: str, room: int) -> str | None:
    """Return a member within a line; None where it has more than `room` words."""
    value = entry.value
    if isinstance(value, Scalar):
        text = _keyed(name, _say(value))
    elif not value.entries:
        text = _keyed(name, "none")
    else:
        said = _inline_all(value, name, ", ", room)
        if said is None:
            return None
        is_list = not value.keyed and _only_scalars(value)
        text = _keyed(name, said) if is_list else f"{name} {said}".strip()
    return text if len(text.split()) <= room + len(name.split()) else None


def _inline_all(members: Members, path: str, joint: str, room: int) -> str | None:
    """Join what the members say; None where that has more than `room` words."""
    if len(members.entries) > room:
        return None
    said = [_inline(entry, name, room) for entry, name in _named(members, path)]
    texts = [text for text in said if text is not None]
    joined = joint.join(texts)
    return joined if len(texts) == len(said) and len(joined.split()) <= room else None


def _keyed(name: str, text: str) -> str:
    return f"{name}: {text}" if name else text


def _say(value: Scalar) -> str:
    """Return the scalar in words; opening hours such as 9:0-17:30 become 9:00 to 17:30."""
    text = value.value.strip()
    if match := _CLOCK.fullmatch(text):
        start, start_minute, end, end_minute = match.groups()
        return f"{start}:{start_minute:0>2} to {end}:{end_minute:0>2}"
    return text or "not given"


def _only_scalars(members: Members) -> bool:
    return all(isinstance(entry.value, Scalar) for entry in members.entries)


def _named(members: Members, path: str) -> list[tuple[Entry, str]]:
    """Return each member with its name: its key, or in a list its record's name or its number.

    A pair such as `{"name": "Weight", "value": "205 g"}` is a member that is named Weight.
    """
    if members.keyed:
        return [(entry, spell_key(entry.key)) for entry in members.entries]
    if _only_scalars(members):
        return [(entry, "") for entry in members.entries]
    alone = len(members.entries) == 1
    named = []
    for number, entry in enumerate(members.entries, start=1):
        label = "" if alone else str(number) if path else f"item {number}"
        named.append(_unwrapped(entry) or (entry, label))
    return named


def _unwrapped(entry: Entry) -> tuple[Entry, str] | None:
    """Split a record into its name and the rest; None where it has no short name, or only that."""
    value = entry.value
    if not isinstance(value, Members) or not value.keyed or len(value.entries) < 2:
        return None
    for index, (_, key, inner) in enumerate(value.entries):
        if isinstance(inner, Scalar) and spell_key(key).lower() in _NAMES:
            name, others = inner.value.strip(), value.entries[:index] + value.entries[index + 1 :]
            if len(name.split()) > _LABEL:
                return None
            is_pair = len(others) == 1 and spell_key(others[0].key).lower() in _VALUES
            rest = Members(value.start, value.end, keyed=True, entries=others)
            return Entry(entry.start, "", others[0].value if is_pair else rest), name
    return None
