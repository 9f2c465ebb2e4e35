"""The lines of a record: a key path, and then some of the members under it."""

from collections.abc import Iterator

from .absence import Line, take_absent
from .literals import Entry, Members, Scalar
from .members import flag, member_name, say_member, unwrapped
from .sentences import split_sentences

_LINE = 40  # words on a line at most, where it can be split
_WHOLE = 48  # words of a record that stays whole
_SMALL = 8  # words of an object that is beside others on a line


def record_lines(record: Members) -> list[Line]:
    """Return the record's lines in the order they begin in."""
    present, lines = take_absent(record)
    if present.entries or not record.entries:
        lines += _lines(present, "")
    return sorted(map(_whole, lines), key=lambda line: line.start)


def _whole(line: Line) -> Line:
    text = " ".join(line.text.split())
    return line._replace(text=text if text.endswith((".", "!", "?")) else f"{text}.")


def _lines(members: Members, path: str) -> Iterator[Line]:
    whole = _inline_members(members, path)
    if whole is not None:
        yield Line(members.start, members.end, whole)
        return
    group: list[Line] = []
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


def _small_part(entry: Entry, name: str) -> Line | None:
    """Return a member as it is written beside others; None for what needs lines of its own."""
    value = entry.value
    simple = isinstance(value, Scalar) or (_only_scalars(value) and not value.keyed)
    said = _inline(entry, name, _LINE if simple else _SMALL)
    return None if said is None else Line(entry.start, value.end, said)


def _large(entry: Entry, path: str) -> Iterator[Line]:
    value = entry.value
    if isinstance(value, Members):
        yield from _lines(value, path)
        return
    for sentence in split_sentences(value.value):
        start, end = value.place(sentence.start), value.place(sentence.end - 1) + 1
        yield Line(start, end, _keyed(path, sentence.text))


def _length(group: list[Line]) -> int:
    return sum(len(part.text.split()) for part in group)


def _join(group: list[Line], path: str) -> Line:
    text = "; ".join(part.text for part in group)
    return Line(group[0].start, group[-1].end, f"{path} {text}".strip())


def _inline_members(members: Members, path: str) -> str | None:
    """Return all of `members` as one line; None where it is too long, or a list of records."""
    if not members.entries:
        return _keyed(path, "none")
    if not members.keyed and _only_scalars(members):
        return _inline(Entry(members.start, "", members), path, _WHOLE)
    if not members.keyed and len(members.entries) > 1:
        return None
    is_list = _is_list(members)
    text = _inline_all(members, path, ", " if is_list else "; ", _WHOLE)
    if text is None:
        return None
    return _keyed(path, text) if is_list else f"{path} {text}".strip()


def _inline(entry: Entry, name: str, room: int) -> str | None:
    """Return a member within a line; None where it has more than `room` words."""
    value = entry.value
    if isinstance(value, Scalar):
        text = say_member(name, value.value.strip())
    elif not value.entries:
        text = _keyed(name, "none")
    else:
        said = _inline_all(value, name, ", ", room)
        if said is None:
            return None
        text = _keyed(name, said) if _is_list(value) else f"{name} {said}".strip()
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


def _is_list(members: Members) -> bool:
    """Return whether these are values alone, or names of what there is."""
    if not members.keyed:
        return _only_scalars(members)
    return all(
        isinstance(entry.value, Scalar) and flag(member_name(entry), entry.value.value.strip())
        for entry in members.entries
    )


def _only_scalars(members: Members) -> bool:
    return all(isinstance(entry.value, Scalar) for entry in members.entries)


def _named(members: Members, path: str) -> list[tuple[Entry, str]]:
    """Return each member with its name: its key, or in a list its record's name or its number.

    A pair such as `{"name": "Weight", "value": "205 g"}` is a member that is named Weight.
    """
    if members.keyed or _only_scalars(members):
        return [(entry, member_name(entry)) for entry in members.entries]
    alone = len(members.entries) == 1
    named = []
    for number, entry in enumerate(members.entries, start=1):
        label = "" if alone else str(number) if path else f"item {number}"
        named.append(unwrapped(entry) or (entry, label))
    return named
