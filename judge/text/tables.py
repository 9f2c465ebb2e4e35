"""Tables written as text: Markdown, bars, and CSV; each row becomes a line with its columns' names.

A row is `Team: Reds; Wins: 12`. A wide row goes over several lines, each led by its first cell.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from .sentences import Piece

_LINE = 40  # words on a line at most, where it can be split
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_DELIMITERS = (",", "\t", ";")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_HEADER_WORDS = 8  # in a CSV column's name at most


class _Cell(NamedTuple):
    start: int
    end: int
    text: str


class Table(NamedTuple):
    """A table at [start, end) of a text: its columns' names, and its rows' cells."""

    start: int
    end: int
    names: tuple[str, ...]
    rows: tuple[tuple[_Cell, ...], ...]


def row_text(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as `name: cell; name: cell`, without empty cells and missing names."""
    named = zip_longest(names, cells, fillvalue="")
    pairs = ((" ".join(name.split()), " ".join(cell.split())) for name, cell in named)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def table_lines(table: Table) -> Iterator[Piece]:
    """Yield the lines of the table, at their places in the text it was found in."""
    for row in table.rows:
        said = [(index, cell) for index, cell in enumerate(row) if cell.text]
        names = [table.names[index] if index < len(table.names) else "" for index, _ in said]
        cells = [cell for _, cell in said]
        start = 0
        while start < len(cells):
            end = _line_end(names, cells, start)
            kept = [0, *range(max(start, 1), end)]
            line = row_text([names[i] for i in kept], [cells[i].text for i in kept])
            yield Piece(cells[start].start, cells[end - 1].end, f"{line}.")
            start = end


def _line_end(names: Sequence[str], cells: Sequence[_Cell], start: int) -> int:
    """Return the end of the line that begins with that cell: at least one cell fits on it."""
    words, end = len(row_text(names[:1], [cells[0].text]).split()) if start else 0, start
    while end < len(cells):
        words += len(row_text([names[end]], [cells[end].text]).split())
        if words > _LINE and end > start:
            break
        end += 1
    return end


def find_tables(text: str) -> Iterator[Table]:
    """Find the tables in the text, in order."""
    lines = list(_split_lines(text))
    yield from _csv(lines) or _barred(lines)


def _split_lines(text: str) -> Iterator[_Cell]:
    start = 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip()
        yield _Cell(start, start + len(bare), bare)
        start += len(line)


def _barred(lines: Sequence[_Cell]) -> list[Table]:
    """Return the runs of lines with bars that are tables."""
    tables = []
    run: list[_Cell] = []
    filled = [line for line in lines if line.text]
    for line in [*lines, _Cell(0, 0, "")]:
        if _BAR.search(line.text):
            run.append(line)
            continue
        if len(run) > 1 and (_is_ruled(run) or _is_framed(run, is_all=len(run) == len(filled))):
            header, *rows = ([*_bar_cells(row)] for row in run if not _RULE.fullmatch(row.text))
            if rows:
                tables.append(_table(run, header, rows))
        run = []
    return tables


def _table(
    lines: Sequence[_Cell], header: Sequence[_Cell], rows: Sequence[Sequence[_Cell]]
) -> Table:
    names = tuple(cell.text for cell in header)
    return Table(lines[0].start, lines[-1].end, names, tuple(tuple(row) for row in rows))


def _is_ruled(run: Sequence[_Cell]) -> bool:
    """Return whether a rule, as in |---|---|, follows the first line."""
    return _RULE.fullmatch(run[1].text) is not None and not _RULE.fullmatch(run[0].text)


def _is_framed(run: Sequence[_Cell], *, is_all: bool) -> bool:
    """Return whether all lines have as many cells, within bars or, in a whole document, between."""
    counts = {len([*_bar_cells(line)]) for line in run if not _RULE.fullmatch(line.text)}
    if len(counts) != 1 or min(counts) < 2 or _RULE.fullmatch(run[0].text):
        return False
    framed = all(line.text.lstrip()[0] == "|" == line.text[-1] for line in run)
    return framed or (is_all and len(run) > 2)


def _bar_cells(line: _Cell) -> Iterator[_Cell]:
    start = line.start + len(line.text) - len(line.text.lstrip().removeprefix("|"))
    inner = line.text[start - line.start :]
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    at = 0
    for end in [*(match.start() for match in _BAR.finditer(inner)), len(inner)]:
        text = inner[at:end].strip()
        first = start + (inner.index(text[0], at) if text else at)
        yield _Cell(first, first + len(text), text.replace("\\|", "|"))
        at = end + 1


def _csv(lines: Sequence[_Cell]) -> list[Table]:
    """Return the table that the whole text is, apart from remarks (#) and blank lines."""
    filled = [line for line in lines if line.text and not line.text.startswith("#")]
    if len(filled) < 3:
        return []
    for delimiter in _DELIMITERS:
        rows: list[list[_Cell]] = []
        for line in filled:
            row = _csv_cells(line, delimiter)
            if row is None or len(row) < 2 or (rows and len(row) != len(rows[0])):
                break
            rows.append(row)
        if len(rows) == len(filled) and _is_header(rows[0]):
            return [_table(filled, rows[0], rows[1:])]
    return []


def _is_header(cells: Sequence[_Cell]) -> bool:
    """Return whether these can be columns' names: all different, and words or years."""
    names = [cell.text for cell in cells]
    named = all(any(map(str.isalpha, name)) or _YEAR.fullmatch(name) for name in names[1:])
    return (
        named
        and len(set(names)) == len(names)
        and all(len(name.split()) <= _HEADER_WORDS for name in names)
    )


def _csv_cells(line: _Cell, delimiter: str) -> list[_Cell] | None:
    """Split a line; None where a blank follows a delimiter, as it does in prose."""
    mark = re.escape(delimiter)
    quoted = r'"((?>(?:[^"]|"")*))"'
    cells = []
    at = 0
    while True:
        match = re.compile(rf"(?:{quoted}|([^{mark}]*))(?={mark}|$)").match(line.text, at)
        if match is None or match.group().startswith(" "):
            return None
        inside = 1 if match[1] is not None else 2
        text = match[inside].replace('""', '"').strip()
        start, end = match.span(inside)
        cells.append(_Cell(line.start + start, line.start + end, text))
        at = match.end() + 1
        if at > len(line.text):
            return cells
