"""Find tables written as text: Markdown, bars, and CSV."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_DELIMITERS = (",", "\t", ";")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_HEADER_WORDS = 8  # in a CSV column's name at most


class Cell(NamedTuple):
    """What is written at [start, end) of a text."""

    start: int
    end: int
    text: str


class Table(NamedTuple):
    """A table at [start, end) of a text: its columns' names, and its rows' cells."""

    start: int
    end: int
    names: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def find_tables(text: str) -> Iterator[Table]:
    """Find the tables in the text, in order."""
    lines = list(_split_lines(text))
    yield from _csv(lines) or _barred(lines)


def _split_lines(text: str) -> Iterator[Cell]:
    start = 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip()
        yield Cell(start, start + len(bare), bare)
        start += len(line)


def _barred(lines: Sequence[Cell]) -> list[Table]:
    """Return the runs of lines with bars that are tables."""
    tables = []
    run: list[Cell] = []
    filled = [line for line in lines if line.text]
    for line in [*lines, Cell(0, 0, "")]:
        if _BAR.search(line.text):
            run.append(line)
            continue
        if len(run) > 1 and (_is_ruled(run) or _is_framed(run, is_all=len(run) == len(filled))):
            header, *rows = ([*_bar_cells(row)] for row in run if not _RULE.fullmatch(row.text))
            if rows:
                tables.append(_table(run, header, rows))
        run = []
    return tables


def _table(lines: Sequence[Cell], header: Sequence[Cell], rows: Sequence[Sequence[Cell]]) -> Table:
    names = tuple(cell.text for cell in header)
    return Table(lines[0].start, lines[-1].end, names, tuple(tuple(row) for row in rows))


def _is_ruled(run: Sequence[Cell]) -> bool:
    """Return whether a rule, as in |---|---|, follows the first line."""
    return _RULE.fullmatch(run[1].text) is not None and not _RULE.fullmatch(run[0].text)


def _is_framed(run: Sequence[Cell], *, is_all: bool) -> bool:
    """Return whether all lines have as many cells, within bars or, in a whole document, between."""
    counts = {len([*_bar_cells(line)]) for line in run if not _RULE.fullmatch(line.text)}
    if len(counts) != 1 or min(counts) < 2 or _RULE.fullmatch(run[0].text):
        return False
    framed = all(line.text.lstrip()[0] == "|" == line.text[-1] for line in run)
    return framed or (is_all and len(run) > 2)


def _bar_cells(line: Cell) -> Iterator[Cell]:
    start = line.start + len(line.text) - len(line.text.lstrip().removeprefix("|"))
    inner = line.text[start - line.start :]
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    at = 0
    for end in [*(match.start() for match in _BAR.finditer(inner)), len(inner)]:
        text = inner[at:end].strip()
        first = start + (inner.index(text[0], at) if text else at)
        yield Cell(first, first + len(text), text.replace("\\|", "|"))
        at = end + 1


def _csv(lines: Sequence[Cell]) -> list[Table]:
    """Return the table that the whole text is, apart from remarks (#) and blank lines."""
    filled = [line for line in lines if line.text and not line.text.startswith("#")]
    if len(filled) < 3:
        return []
    for delimiter in _DELIMITERS:
        rows: list[list[Cell]] = []
        for line in filled:
            row = _csv_cells(line, delimiter)
            if row is None or len(row) < 2 or (rows and len(row) != len(rows[0])):
                break
            rows.append(row)
        if len(rows) == len(filled) and _is_header(rows[0]):
            return [_table(filled, rows[0], rows[1:])]
    return []


def _is_header(cells: Sequence[Cell]) -> bool:
    """Return whether these can be columns' names: all different, and words or years."""
    names = [cell.text for cell in cells]
    named = all(any(map(str.isalpha, name)) or _YEAR.fullmatch(name) for name in names[1:])
    return (
        named
        and len(set(names)) == len(names)
        and all(len(name.split()) <= _HEADER_WORDS for name in names)
    )


def _csv_cells(line: Cell, delimiter: str) -> list[Cell] | None:
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
        cells.append(Cell(line.start + start, line.start + end, text))
        at = match.end() + 1
        if at > len(line.text):
            return cells
