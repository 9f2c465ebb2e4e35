"""Turn records and tables inside a document into lines that read like sentences.

Found are JSON and printed Python values that begin a line, Markdown tables, and documents that are
a CSV file or a table of bars as a whole. All else stays prose: what merely looks like a record,
such as "[1] Smith et al.", is never taken for one.

A line is the key path of an object and then some of its members, `hours Monday: 9:00 to 17:00;
Tuesday: …`; what is small stays whole on one line, what is large is taken apart, and long texts go
by sentence. A flag is `pool` or, on a line of its own, `there is no pool`; null says nothing.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from .absence import Line
from .literals import Members, Scalar, read_literal
from .records import record_lines
from .rows import table_lines
from .sentences import split_sentences
from .sheets import sheet_flags
from .tables import find_tables

__all__ = ["Line", "flatten"]

_OPENING = re.compile(r"(?m)(?:^|:)[^\S\n]*(?=[\[{])")


def flatten(document: str) -> list[Line] | None:
    """Return the document's records and table rows as lines, and the text between as sentences.

    A line's `text` is rewritten and ends in a full stop, `start` and `end` are the range of
    `document` that it says. Lines are in the order they begin in and none is empty; what a record
    says there is not may lie within another's range.

    Returns:
        The lines, or None where the document is prose throughout.
    """
    found = False
    lines: list[Line] = []
    done = 0
    for record in _records(document):
        lines += _shifted(_prose(document[done : record.start]), done)
        lines += record_lines(record)
        found, done = True, record.end
    rest = document[done:]
    tables = list(find_tables(rest))
    if not found and not tables and not any(True for _ in sheet_flags(document)):
        return None
    at = 0
    for table in tables:
        lines += _shifted(_prose(rest[at : table.start]), done + at)
        lines += _shifted(table_lines(table), done)
        at = table.end
    lines += _shifted(_prose(rest[at:]), done + at)
    return lines


def _prose(text: str) -> Iterator[Line]:
    """Yield sentences and flags; brackets and code fences left between records say nothing."""
    done = 0
    for line in sheet_flags(text):
        yield from _sentences(text, done, line.start)
        yield line
        done = line.end
    yield from _sentences(text, done, len(text))


def _sentences(text: str, start: int, end: int) -> Iterator[Line]:
    for piece in split_sentences(text[start:end]):
        if any(map(str.isalnum, piece.text)):
            yield Line(piece.start + start, piece.end + start, piece.text)


def _shifted(lines: Iterable[Line], by: int) -> Iterator[Line]:
    return (line._replace(start=line.start + by, end=line.end + by) for line in lines)


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
