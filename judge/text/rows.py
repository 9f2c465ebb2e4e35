"""The lines of a table: each row with its columns' names.

A row is `Team: Reds; Wins: 12`. A wide row goes over several lines, each led by its first cell. Of
flags a row has what there is, `Plan: Free; chat`, and a line of its own says what there is not,
`Plan: Free; there is no audit log`.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from .absence import Line, telling_stems
from .members import HAVING, flag, say_absent
from .tables import Cell, Table

_LINE = 40  # words on a line at most, where it can be split
_SHEET = HAVING | {"value", "answer", "yes/no", "?"}  # second columns of a table of features


def row_text(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as `name: cell; name: cell`, without empty cells and missing names."""
    named = zip_longest(names, cells, fillvalue="")
    pairs = ((" ".join(name.split()), " ".join(cell.split())) for name, cell in named)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def table_lines(table: Table) -> Iterator[Line]:
    """Yield the lines of the table, at their places in the text it was found in."""
    columns = telling_stems(table.names)
    if len(table.names) == 2 and table.names[1].lower() in _SHEET:
        yield from _sheet_lines(table, columns)
    else:
        for row in table.rows:
            yield from _row_lines(table.names, row, columns)


def _sheet_lines(table: Table, columns: Sequence[frozenset[str]]) -> Iterator[Line]:
    """Yield the lines of a table of features, whose second column says which there are."""
    features = telling_stems([row[0].text for row in table.rows])
    for row, stems in zip(table.rows, features, strict=True):
        name = row[0].text
        there = flag(name, row[1].text) if len(row) == 2 else None
        if there is None:
            yield from _row_lines(table.names, row, columns)
        elif there:
            yield Line(row[0].start, row[1].end, f"{name}.")
        else:
            yield Line(row[0].start, row[1].end, f"{say_absent(name)}.", stems)


def _row_lines(
    names: Sequence[str], row: Sequence[Cell], telling: Sequence[frozenset[str]]
) -> list[Line]:
    """Return the lines of what a row has, and of what it has not, in the order they begin in."""
    lead = row_text(names[:1], [row[0].text])
    present: list[tuple[str, Cell]] = []
    absent = []
    for index, cell in enumerate(row):
        name = names[index] if index < len(names) else ""
        there = flag(name, cell.text) if index and name else None
        if there is False:
            said = "; ".join(filter(None, (lead, say_absent(name))))
            absent.append(Line(cell.start, cell.end, f"{said}.", telling[index]))
        elif cell.text:
            present.append(("", cell._replace(text=name)) if there else (name, cell))
    return sorted([*_fit_lines(present), *absent], key=lambda line: line.start)


def _fit_lines(said: Sequence[tuple[str, Cell]]) -> Iterator[Line]:
    """Yield the cells with their names, as many on a line as fit; the first leads each line."""
    start = 0
    while start < len(said):
        end = _line_end(said, start)
        kept = said[start:end] if not start else [said[0], *said[start:end]]
        text = row_text([name for name, _ in kept], [cell.text for _, cell in kept])
        yield Line(said[start][1].start, said[end - 1][1].end, f"{text}.")
        start = end


def _line_end(said: Sequence[tuple[str, Cell]], start: int) -> int:
    """Return the end of the line that begins with that cell: at least one cell fits on it."""
    words, end = _words(said[0]) if start else 0, start
    while end < len(said):
        words += _words(said[end])
        if words > _LINE and end > start:
            break
        end += 1
    return end


def _words(said: tuple[str, Cell]) -> int:
    return len(row_text([said[0]], [said[1].text]).split())
