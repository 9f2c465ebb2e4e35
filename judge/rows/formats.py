"""Files of rows: JSON Lines, JSON, CSV, TSV and Parquet, compressed or not, or standard input.

Whatever the file, a few rows of it are in memory at once, and no row over `MAX_ROW` bytes: neither
a large file nor a small archive of one fills the machine.
"""

import codecs
import csv
import io
import json
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from ..backends.base import MissingExtra
from ..contract.types import BadInput
from .archives import MAGIC, unpack
from .fields import Cells, load_json
from .names import shown

STDIN = Path("-")
MAX_ROW = 64 << 20
_BLOCK = 1 << 18
_PARQUET_ROWS = 256
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\n\r]*")
_TOO_LONG = "is longer than {:,} bytes; is the file what its name says?"

Columns = Callable[[Sequence[str]], None]


class RawRow(NamedTuple):
    """A row that is yet to be read."""

    number: int  # its line in JSON Lines, else its number; from 1
    unit: str  # "line" or "row"
    parse: Callable[[], Any]  # reads it; raises BadInput


def read_raw(path: Path, check_columns: Columns = lambda _: None) -> Iterator[RawRow]:
    """Yield the rows of a file; `-` is standard input.

    Args:
        path: its ending says what it is; without one its content does.
        check_columns: called with the header of a table; raises BadInput where it will not do.

    Raises:
        BadInput: the file is of another kind, damaged, or ends in the middle.
        MissingExtra: Parquet or .zst without pyarrow.
        OSError: the file cannot be read.
    """
    try:
        packed, kind = _read_name(path)
        with _open(path) as file:
            stream, kind = _unpack(file, packed, kind)
            yield from _READERS[kind](stream, check_columns)
    except BadInput as error:
        field = f"{path}" if error.field == "row" else f"{path}, {error.field}"
        raise BadInput(error.code, field, error.message) from None


def read_lines(lines: Iterable[bytes]) -> Iterator[RawRow]:
    """Yield JSON Lines; blank ones are skipped."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield RawRow(number, "line", lambda line=line: parse_json(line))  # type: ignore[misc]


@contextmanager
def kept(path: Path) -> Iterator[Path]:
    """Yield a file that can be read more than once: a copy of standard input, or of a pipe."""
    if path != STDIN and (path.is_file() or not path.exists()):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder, _open(path) as source:
        # Its ending, if it has one, still says what it holds.
        copy = Path(folder, "standard input" if path == STDIN else path.name)
        with copy.open("wb") as file:
            shutil.copyfileobj(source, file)
        yield copy


def parse_json(text: str | bytes) -> Any:
    """Read the JSON of a row.

    Raises:
        BadInput: it is too long, not UTF-8, no JSON, or has a key twice.
    """
    if len(text) > MAX_ROW:
        raise BadInput("bad_input", "row", _TOO_LONG.format(MAX_ROW))
    try:
        return load_json(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadInput("bad_input", "row", f"is not UTF-8 at byte {error.start}") from None
    except BadInput:
        raise
    except (ValueError, RecursionError) as error:
        raise BadInput("bad_input", "row", f"is not a JSON object ({error})") from None


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    if path == STDIN:
        yield sys.stdin.buffer
    else:
        with path.open("rb") as file:
            yield file


def _read_name(path: Path) -> tuple[str, str]:
    """Return how a file is compressed and what it is, as its endings say; "" where they do not."""
    name, packed = Path(path.name.lower()), ""
    if name.suffix in MAGIC:
        name, packed = name.with_suffix(""), name.suffix
    kind = {".ndjson": ".jsonl"}.get(name.suffix, name.suffix)
    if kind and kind not in _READERS:
        known = ", ".join((*_READERS, ".ndjson"))
        message = f"unknown kind of file; use one of {known}, as they are or as {', '.join(MAGIC)}"
        raise BadInput("bad_input", "row", message)
    return packed, kind


def _unpack(file: BinaryIO, packed: str, kind: str) -> tuple[io.BufferedReader, str]:
    """Open what is compressed, and find out by its content what the endings do not say."""
    stream = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast("Any", file))
    found = next((ending for ending, magic in MAGIC.items() if _begins(stream, magic)), "")
    if kind and not packed and kind != ".parquet" and found:
        raise BadInput("bad_input", "row", f"is compressed; give it the ending {kind}{found}")
    if packed := packed or ("" if kind else found):
        stream = unpack(stream, packed)
    kind = kind or _sniff(stream)
    if kind != ".parquet":
        _check_utf8(stream)
    elif packed:
        raise BadInput("bad_input", "row", f"is Parquet in {packed}; decompress it first")
    return stream, kind


def _begins(file: io.BufferedReader, magic: bytes) -> bool:
    return file.peek(len(magic)).startswith(magic)


def _check_utf8(file: io.BufferedReader) -> None:
    head = file.peek(4)[:4]
    if head.startswith(_UTF_16) or b"\0" in head:
        message = "is UTF-16 or UTF-32; save it as UTF-8, as by `iconv -f UTF-16 -t UTF-8`"
        raise BadInput("bad_input", "row", message)


def _sniff(file: io.BufferedReader) -> str:
    head = file.peek(_BLOCK).removeprefix(_BOM).lstrip()
    line = head.partition(b"\n")[0].rstrip()
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"[") or line == b"{":
        return ".json"
    if head.startswith(b"{"):
        return ".jsonl"
    return ".tsv" if b"\t" in line else ".csv" if b"," in line else ".jsonl"


def _bounded(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines; of one over `MAX_ROW` only enough to see that it is too long."""
    while line := file.readline(MAX_ROW + 1):
        rest = line
        while len(rest) >= min(_BLOCK, MAX_ROW) and not rest.endswith(b"\n"):
            rest = file.readline(_BLOCK)
        yield line


def _read_jsonl(file: BinaryIO, _: Columns) -> Iterator[RawRow]:
    yield from read_lines(_bounded(file))


class _JsonText:
    """A JSON file, of which about as much is in memory as its longest value takes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """Return the next character that is not blank; none at the end."""
        while True:
            found = _BLANKS.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._text) or not self._read():
                return self._text[self._at : self._at + 1]

    def skip(self) -> None:
        """Skip a character."""
        self._at += 1

    def value(self) -> str:
        """Return the text of the value that begins here.

        Raises:
            BadInput: none does, or it is too long.
        """
        while True:
            try:
                _, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._read():  # a number may go on
                    break
            except json.JSONDecodeError as error:
                # What fails before the end is wrong; else the value may go on.
                cut = error.pos > len(self._text) - 8 or error.msg.startswith("Unterminated")
                if not cut or not self._read():
                    raise BadInput("bad_input", "row", f"is not JSON ({error.msg})") from None
            except RecursionError:
                raise BadInput("bad_input", "row", "is nested too deep") from None
            if len(self._text) > MAX_ROW:
                raise BadInput("bad_input", "row", _TOO_LONG.format(MAX_ROW))
        text, self._at = self._text[self._at : end], end
        return text

    def _read(self) -> bool:
        block = self._file.read(max(_BLOCK, len(self._text) - self._at))
        self._text = self._text[self._at :] + self._decoder.decode(block, final=not block)
        self._at = 0
        return bool(block)


def _read_json(file: BinaryIO, _: Columns) -> Iterator[RawRow]:
    """Yield the elements of an array, or objects that follow one another."""
    text, number = _JsonText(file), 0
    array = text.peek() == "["
    if array:
        text.skip()
    while (mark := text.peek()) and not (array and mark == "]"):
        number += 1
        try:
            value = text.value()
        except BadInput as error:
            raise BadInput("bad_input", f"row {number}", error.message) from None
        yield RawRow(number, "row", lambda value=value: parse_json(value))  # type: ignore[misc]
        if array and text.peek() == ",":
            text.skip()
        elif array and text.peek() not in ("]", ""):
            raise BadInput("bad_input", f"row {number}", "is not followed by a comma or a bracket")
    if array and not mark:
        raise BadInput("bad_input", "row", "ends before its closing bracket; was it copied whole?")
    if array:
        text.skip()
        if text.peek():
            raise BadInput("bad_input", "row", "continues after its closing bracket")


def _read_table(file: BinaryIO, check_columns: Columns, delimiter: str) -> Iterator[RawRow]:
    csv.field_size_limit(MAX_ROW)  # its default would refuse a document over 128 kB
    rows = _table_rows(csv.reader(_decoded(file), delimiter=delimiter, strict=True))
    header = next(rows, [])
    if isinstance(header, str):
        raise BadInput("bad_input", "first row", header)
    check_columns(_once_each(header))
    for number, row in enumerate(rows, start=1):
        yield RawRow(number, "row", partial(_join, header, row))


def _table_rows(cells: Iterator[list[str]]) -> Iterator[list[str] | str]:
    """Yield the rows that are not blank; of one that cannot be read, why."""
    while True:
        try:
            row = next(cells, None)
        except csv.Error as error:
            yield f"cannot be read as a table ({error}); are its quotes closed?"
            continue
        if row is None:
            return
        if row:
            yield row


def _decoded(file: BinaryIO) -> Iterator[str]:
    for number, line in enumerate(_bounded(file)):
        if len(line) > MAX_ROW:
            raise BadInput("bad_input", f"line {number + 1}", _TOO_LONG.format(MAX_ROW))
        line = line if number else line.removeprefix(_BOM)
        yield line.decode("utf-8", "surrogateescape")


def _once_each(names: Sequence[str]) -> Sequence[str]:
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise BadInput("bad_input", "first row", f"names {shown(twice)} twice; rename one")
    return names


def _join(header: Sequence[str], row: Sequence[str] | str) -> Cells:
    if isinstance(row, str):
        raise BadInput("bad_input", "row", row)
    if len(row) != len(header):
        message = f"has {len(row)} cells, but the first row names {len(header)} columns"
        raise BadInput("bad_input", "row", f"{message}; quote what holds a comma or a line break")
    return Cells(zip(header, row, strict=True))


def _read_parquet(file: BinaryIO, check_columns: Columns) -> Iterator[RawRow]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra("Reading Parquet", "data") from None
    with tempfile.TemporaryFile() as copy:
        if not file.seekable():  # its table of contents is at the end
            shutil.copyfileobj(file, copy)
            file = cast("BinaryIO", copy)
        try:
            table = ParquetFile(file)
            check_columns(_once_each(table.schema_arrow.names))
            number = 0
            for batch in table.iter_batches(batch_size=_PARQUET_ROWS):
                for raw in batch.to_pylist():
                    number += 1
                    yield RawRow(number, "row", partial(_drop_nan, raw))
        except (pyarrow.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            message = f"is not a Parquet file, or damaged ({error})"
            raise BadInput("bad_input", "row", message) from None


def _drop_nan(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """NaN means, as null does, that the column holds nothing here."""
    return {
        name: value
        for name, value in raw.items()
        if not (isinstance(value, float) and math.isnan(value))
    }


_READERS: dict[str, Callable[[BinaryIO, Columns], Iterator[RawRow]]] = {
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".csv": partial(_read_table, delimiter=","),
    ".tsv": partial(_read_table, delimiter="\t"),
    ".parquet": _read_parquet,
}
