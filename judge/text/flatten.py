"""Turn records and tables inside a document into lines that read like sentences.

Found are JSON and printed Python values that begin a line, Markdown tables, and documents that are
a CSV file or a table of bars as a whole. All else stays prose: what merely looks like a record,
such as "[1] Smith et al.", is never taken for one.

A line is the key path of an object and then some of its members, `hours Monday: 9:00 to 17:00;
Tuesday: …`; what is small stays whole on one line, what is large is taken apart, and long texts go
by sentence.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from .literals import Entry, Members, Scalar, read_literal
from .sentences import Piece, split_sentences
from .tables import find_tables, row_text, table_lines

__all__ = ["flatten", "row_text"]

_OPENING = re.compile(r"(?m)(?:^|:)[^\S\n]*(?=[\[{])")


def flatten(document: str) -> list[Piece] | None:
    """Return the document's records and table rows as lines, and the text between as sentences.

    A line's `text` is rewritten and ends in a full stop, `start` and `end` are the range of
    `document` that it says. Pieces are in order and none is empty.

    Returns:
        The pieces, or None where the document is prose throughout.
    """
    found = False
    pieces: list[Piece] = []
    done = 0
    for record in _records(document):
        pieces += _shifted(_prose(document[done : record.start]), done)
        pieces += record_lines(record)
        found, done = True, record.end
    rest = document[done:]
    tables = list(find_tables(rest))
    if not found and not tables:
        return None
    at = 0
    for table in tables:
        pieces += _shifted(_prose(rest[at : table.start]), done + at)
        pieces += _shifted(table_lines(table), done)
        at = table.end
    pieces += _shifted(_prose(rest[at:]), done + at)
    return pieces


def _prose(text: str) -> list[Piece]:
    """Return the sentences; brackets and code fences left between records say nothing."""
    return [piece for piece in split_sentences(text) if any(map(str.isalnum, piece.text))]


def _shifted(pieces: Sequence[Piece] | Iterator[Piece], by: int) -> Iterator[Piece]:
    return (Piece(piece.start + by, piece.end + by, piece.text) for piece in pieces)


def _records(document: str) -> Iterator[Members]:
    """Find the objects and lists that begin a line or follow a colon."""
    done = 0
    for match in _OPENING.finditer(document):
        if match.end() < done:
            continue
        members = read_literal(document, match.end())
        done = members.end
        is_all = not document[done:].strip() and not document[: match.start()].strip()
        if _is_record(members, is_all):
            yield members


def _is_record(members: Members, is_all: bool) -> bool:
    """Return whether this is a record: one closed pair will do, a damaged record needs two."""
    pairs = _pairs(members)
    if members.closed:
        return pairs > 0 or (is_all and len(members.entries) > 1)
    return pairs > 1


def _pairs(members: Members) -> int:
    inner = (_pairs(e.value) for e in members.entries if not isinstance(e.value, Scalar))
    return sum(chain([len(members.entries) if members.keyed else 0], inner))


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
        text = " ".join(line.text.split())
        yield Piece(line.start, line.end, text if text.endswith((".", "!", "?")) else f"{text}.")


def spell_key(key: str) -> str:
    """Write a key as words: `good_for`, `goodFor` and `GoodFor` are "good for"."""
    plain = key.strip()
    if " " in plain:
        return plain
    spelled = _JOINTS.sub(" ", plain)
    parts = _CAMEL.sub(" ", spelled)
    return parts if parts == spelled else parts.lower()


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
