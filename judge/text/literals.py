"""Read a JSON value, or a Python literal as `print` shows it, and where each of its parts is.

What is read may be damaged: a value is read up to the first fault or the text's end, and its parts
before that are kept. Nothing is evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

_DEEPEST = 32
_WHITE = re.compile(r"\s*")
_STRING = re.compile(r'[bru]?(?:"((?>(?:[^"\\]|\\.)*))"|\'((?>(?:[^\'\\]|\\.)*))\')', re.S)
_BARE = re.compile(r"[-+]?[\d.][\w.+-]*|[-+]?(?:Infinity|inf|NaN|nan)\b|[A-Za-z]+\b")
_BARE_WORDS = {
    **dict.fromkeys(("null", "None", "undefined", "NaN", "nan"), ""),
    **dict.fromkeys(("true", "True"), "yes"),
    **dict.fromkeys(("false", "False"), "no"),
}
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_SURROGATES = r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
_ESCAPE = re.compile(
    rf"{_SURROGATES}|\\u[\da-fA-F]{{4}}|\\x[\da-fA-F]{{2}}|\\U000[\da-fA-F]{{5}}|\\.", re.S
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " ", "\n": ""}


@dataclass(slots=True)
class Scalar:
    """A string, number or word, at [start, end) of the text."""

    start: int
    end: int
    value: str  # what it says; null, true and false are "", "yes" and "no"
    first: int  # where the value's first character is, after its quotation mark
    # where in the text each character of `value` begins; None where `value` is text[first:first +
    # len(value)]
    places: list[int] | None = None

    def place(self, offset: int) -> int:
        """Return the position in the text of the character at `offset` of the value."""
        return self.first + offset if self.places is None else self.places[offset]


class Entry(NamedTuple):
    """A member of an object with its key, or of a list with the key ""; it begins at `start`."""

    start: int
    key: str
    value: Scalar | Members


@dataclass(slots=True)
class Members:
    """An object or list, at [start, end) of the text."""

    start: int
    end: int
    keyed: bool  # True for an object
    entries: list[Entry] = field(default_factory=list)
    closed: bool = False  # False where the text ends, or breaks the rules, before its end


class _Fault(Exception):
    """The text does not go on as a value does."""


def read_literal(text: str, start: int) -> Members:
    """Read the object or list that begins at text[start], one of the characters `{[(`."""
    return _members(text, start, 0)


def _members(text: str, start: int, depth: int) -> Members:
    """Read an object or list; a fault inside it leaves it open, and so all that hold it."""
    opening = text[start]
    closing = _CLOSING[opening]
    members = Members(start, start + 1, keyed=opening == "{")
    try:
        while True:
            at = _skip(text, members.end)
            if text.startswith(closing, at):
                members.end, members.closed = at + 1, True
                return members
            entry = _entry(text, at, depth, members.keyed)
            members.entries.append(entry)
            members.end = entry.value.end
            if isinstance(entry.value, Members) and not entry.value.closed:
                return members
            at = _skip(text, members.end)
            if text.startswith(",", at):
                members.end = at + 1
            elif not text.startswith(closing, at):
                return members
    except _Fault:
        return members


def _entry(text: str, at: int, depth: int, keyed: bool) -> Entry:
    start, key = at, ""
    if keyed:
        name = _scalar(text, at)
        at = _skip(text, name.end)
        if not text.startswith(":", at):
            raise _Fault
        key, at = name.value, _skip(text, at + 1)
    if text[at : at + 1] in _CLOSING:
        if depth == _DEEPEST:
            raise _Fault
        return Entry(start, key, _members(text, at, depth + 1))
    return Entry(start, key, _scalar(text, at))


def _skip(text: str, at: int) -> int:
    match = _WHITE.match(text, at)
    assert match is not None  # it may be empty
    return match.end()


def _scalar(text: str, at: int) -> Scalar:
    if match := _STRING.match(text, at):
        group = 1 if match[1] is not None else 2
        return _string(text, at, match.end(), *match.span(group))
    if match := _BARE.match(text, at):
        word = match.group()
        if not word[0].isalpha() or word in _BARE_WORDS:
            return Scalar(at, match.end(), _BARE_WORDS.get(word, word), at)
    raise _Fault


def _string(text: str, start: int, end: int, first: int, last: int) -> Scalar:
    """Return a string with its escapes undone; what would be half a surrogate pair is U+FFFD."""
    written = text[first:last]
    if "\\" not in written:
        return Scalar(start, end, written, first)
    parts: list[str] = []
    places: list[int] = []
    done = first
    for match in _ESCAPE.finditer(text, first, last):
        parts += (text[done : match.start()], _unescape(match.group()))
        places += range(done, match.start())
        places += [match.start()] * len(parts[-1])
        done = match.end()
    parts.append(text[done:last])
    places += range(done, last)
    return Scalar(start, end, "".join(parts), first, places)


def _unescape(escape: str) -> str:
    kind = escape[1]
    if kind not in "uUx" or len(escape) == 2:
        return _ESCAPED.get(kind, kind)
    if len(escape) == 12:
        return bytes.fromhex(escape[2:6] + escape[8:12]).decode("utf-16-be")
    code = int(escape[2:], 16)
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)
