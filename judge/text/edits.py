"""Take sentences out of a text, or put others in their place, and leave its markup well-formed.

A line without a sentence left goes, and so does what leads to nothing: a heading, a line that ends
in a colon, a table's header. A table without its header goes whole; a list item whose sub-items
stay becomes "…". A mark such as `**` stays where a part of what it encloses does. Numbers of list
items are not changed.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from .sentences import Piece, body_start, split_sentences

_FENCED = re.compile(
    r"^[^\S\n]*(`{3,}|~{3,}).*?(?:^[^\S\n]*\1[`~]*[^\S\n]*$|\Z)", re.MULTILINE | re.DOTALL
)
_PREFIX = re.compile(r"(?:>\s?|#{1,6}\s+)*")
_LEADING = re.compile(r"\s*(?:(#{1,6})\s|(?:\*\*|__)[^.!?]+(?:\*\*|__):?\s*$|.*:[*_]*\s*$)")
_RULE = re.compile(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*")
_MARK = re.compile(r"(?<!\w)(?:\*{1,3}|__?|~~|`|[“(])|(?:\*{1,3}|__?|~~|`|[”)])(?!\w)")
_CLOSES = {"“": "”", "(": ")"}
_TEXT, _ITEM, _TABLE = 8, 20, 40  # depth of a line, below the headings' 1 to 6


class Edited(NamedTuple):
    """A text that was edited, and where each sentence of the original is in it, if it is."""

    text: str
    ranges: tuple[tuple[int, int] | None, ...]


class _Line(NamedTuple):
    """A line, or fenced code, with the numbers of its sentences and what it leads to."""

    start: int
    end: int
    depth: int
    leads: bool
    units: list[int]


def split_units(text: str) -> list[Piece]:
    """Split into sentences as `split_sentences` does; fenced code is one sentence."""
    fences = [match.span() for match in _FENCED.finditer(text)]
    units: list[Piece] = []
    for fence, group in groupby(
        split_sentences(text),
        lambda piece: next((one for one in fences if one[0] <= piece.start < one[1]), None),
    ):
        pieces = list(group)
        start, end = pieces[0].start, pieces[-1].end
        units += pieces if fence is None else [Piece(start, end, text[start:end])]
    return units


def edit(text: str, units: Sequence[Piece], changes: Mapping[int, str]) -> Edited:
    """Put new texts in the place of sentences, by their numbers in `split_units`.

    An empty text takes a sentence out.
    """
    lines = list(_lines(text, units))
    gone = _gone(lines, {number for number, new in changes.items() if not new})
    edited = ""
    ranges: list[tuple[int, int] | None] = [None] * len(units)
    cut, blank = False, True  # whether the lines before were taken out, and what stays is blank
    for place, line in enumerate(lines):
        if not line.units:
            edited += "" if cut and blank else text[line.start : line.end]
            blank = True
            continue
        first, last = units[line.units[0]], units[line.units[-1]]
        body = first.start + _lead(first.text)
        if cut := gone.issuperset(line.units):
            below = {number for one in _body(lines, place) for number in one.units}
            if _ITEM <= line.depth < _TABLE and below - gone:
                edited += f"{text[line.start : body]}…{text[last.end : line.end]}"
                blank = False
            continue
        blank = False
        edited += text[line.start : body]
        marks: list[str] = []  # of sentences that are gone, whose other side may stay
        stray = _unpaired(_MARK.findall(text[body : line.end]))
        shown, done = False, body
        for number in line.units:
            start, end, _ = units[number]
            start = max(start, body)
            said = text[start:end]
            loose = [one for one in _unpaired(_MARK.findall(said)) if one not in stray]
            if number in gone:
                marks = _unpaired([*marks, *loose])
            else:
                edited += "".join(marks) + (text[done:start] if shown else "")
                if number in changes:
                    new, lead = changes[number], [mark for mark in loose if said.startswith(mark)]
                    # The line's own list mark is there already.
                    new = new[_lead(new) :] if start > units[number].start else new
                    said = "".join([*lead, new, *loose[len(lead) :]])
                ranges[number] = (len(edited), len(edited) + len(said))
                edited += said
                marks, shown = [], True
            done = end
        edited += "".join(marks) + text[last.end : line.end]
    return Edited(edited.rstrip() if cut else edited, tuple(ranges))


def annotate(text: str, units: Sequence[Piece], numbers: Collection[int], mark: str) -> Edited:
    """Put a mark behind sentences: in a table's row before its last bar, below fenced code."""
    edited, done, ranges = "", 0, []
    for number, (start, end, said) in enumerate(units):
        edited += text[done:start]
        if number in numbers:
            row = said.startswith("|") and said.endswith("|")
            between = "\n" if _FENCED.match(said) else " "
            said = f"{said[:-1].rstrip()} {mark} |" if row else f"{said}{between}{mark}"
        ranges.append((len(edited), len(edited) + len(said)))
        edited += said
        done = end
    return Edited(edited + text[done:], tuple(ranges))


def _lead(unit: str) -> int:
    """Return the length of the marks before a line's first sentence: `> `, `## `, `- `."""
    prefix = _PREFIX.match(unit)
    start = prefix.end() if prefix else 0
    return start + body_start(unit[start:])


def _unpaired(marks: Sequence[str]) -> list[str]:
    """Return the marks whose other side is not among them."""
    found: list[str] = []
    for mark in marks:
        if found and _CLOSES.get(found[-1], found[-1]) == mark:
            found.pop()
        else:
            found.append(mark)
    return found


def _lines(text: str, units: Sequence[Piece]) -> Iterator[_Line]:
    """Yield the lines; a table's first two are one."""
    number, end = 0, 0
    head: _Line | None = None
    for match in re.finditer(r".*(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])|.+\Z", text):
        if match.start() < end:  # within fenced code
            continue
        start, end = match.span()
        mine = []
        while number < len(units) and units[number].start < end:
            mine.append(number)
            if units[number].end > end:
                end = min(len(text), units[number].end + 1)
            number += 1
        depth, leads = _depth(match[0])
        if head and _RULE.fullmatch(match[0]):
            yield _Line(head.start, end, _TABLE, True, head.units + mine)
            head = None
            continue
        if head:
            yield head
        head = _Line(start, end, depth, leads, mine)
    if head:
        yield head


def _depth(line: str) -> tuple[int, bool]:
    """Return how deep a line is, and whether it leads to what is deeper and follows."""
    leading = _LEADING.match(line)
    if leading and not leading[0].rstrip().rstrip("*_").endswith(":"):
        return len(leading[1]) if leading[1] else _TEXT - 1, True
    if line.lstrip().startswith("|"):
        return _TABLE + 1, False
    if _FENCED.match(line):
        return _TABLE - 1, False
    indent = len(line) - len(line.lstrip())
    deep = indent or body_start(line)
    return _ITEM + min(indent, 18) if deep else _TEXT, leading is not None


def _body(lines: Sequence[_Line], place: int) -> Iterator[_Line]:
    """Yield the lines that one leads to."""
    for line in lines[place + 1 :]:
        if line.units and line.depth <= lines[place].depth:
            return
        yield line


def _gone(lines: Sequence[_Line], gone: set[int]) -> set[int]:
    """Return the sentences to take out with those that are: tables, and what leads to nothing."""
    gone = set(gone)
    for place, line in reversed([*enumerate(lines)]):
        if not line.leads:
            continue
        body = {number for below in _body(lines, place) for number in below.units}
        if line.depth == _TABLE and not gone.isdisjoint(line.units):
            gone |= body | {*line.units}
        elif body and body <= gone:
            gone.update(line.units if line.depth == _TABLE else line.units[-1:])
    return gone
