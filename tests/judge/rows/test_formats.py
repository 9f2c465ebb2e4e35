import bz2
import csv
import gzip
import io
import json
import lzma
import os
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.rows import archives, formats
from moonlynx.judge.rows.examples import describe, read_rows

pytestmark = pytest.mark.heavy  # for pyarrow

DOCUMENTS = ['one, [ "', "tw\\o ]}\n"]
ROWS = [{"id": f"r{at}", "contexts": DOCUMENTS, "response": f"é{at}"} for at in range(5)]
EXAMPLES = [Example(id=f"r{at}", context=tuple(DOCUMENTS), answer=f"é{at}") for at in range(5)]
PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


def jsonl(rows=ROWS):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def table(delimiter=",", context=json.dumps):
    text = io.StringIO(newline="")
    rows = csv.writer(text, delimiter=delimiter)
    rows.writerow(ROWS[0])
    rows.writerows([row["id"], context(row["contexts"]), row["response"]] for row in ROWS)
    return text.getvalue().encode()


def parquet():
    data = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), data)
    return data.getvalue()


GOOD = b'{"context": "c", "answer": "a"}'
TWICE = b'{"context": "c", "answer": "a", "answer": "b"}'
FILES = {
    "a.jsonl": jsonl(),
    "bom.jsonl": b"\xef\xbb\xbf" + jsonl().replace(b"\n", b"\r\n\r\n"),
    "a.ndjson": jsonl(),
    "a.json": json.dumps(ROWS, indent=2).encode(),
    "line.json": b"\xef\xbb\xbf" + json.dumps(ROWS).encode(),
    "lines.json": jsonl(),
    "objects.json": "\n".join(json.dumps(row, indent=1) for row in ROWS).encode(),
    "a.csv": table(),
    "bom.csv": b"\xef\xbb\xbf" + table(context=str),
    "a.tsv": table("\t"),
    "a.parquet": parquet(),
}


@pytest.fixture
def stdin(monkeypatch):
    reading, writing = os.pipe()
    with (
        os.fdopen(writing, "wb", buffering=0) as end,
        io.TextIOWrapper(os.fdopen(reading, "rb")) as text,
    ):
        monkeypatch.setattr("sys.stdin", text)
        yield end


def examples(path):
    return [row.example for row in read_rows(path)]


@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize("name", FILES)
def test_every_kind_gives_the_same_rows(tmp_path, monkeypatch, stdin, name, packed):
    if name.endswith(".parquet") and packed:
        pytest.skip("is compressed as it is")
    monkeypatch.setattr(formats, "_BLOCK", 7)  # no row is whole in what is read at once
    data = PACKERS[packed](FILES[name])
    path = tmp_path / (name + packed)
    path.write_bytes(data)
    assert examples(path) == EXAMPLES
    assert describe(path).rows == 5
    # Without an ending, and through a pipe, its content says what it is.
    stdin.write(data)
    stdin.close()
    with formats.kept(formats.STDIN) as copy:
        assert describe(copy) == describe(path)
        assert examples(copy) == EXAMPLES


def test_a_row_is_read_before_the_next_one_is_written(stdin):
    rows = read_rows(formats.STDIN)
    for at, example in enumerate(EXAMPLES):
        stdin.write(jsonl(ROWS[at : at + 1]))
        assert next(rows).example == example
    stdin.close()
    assert list(rows) == []


def cut(data):
    return data[:-9]


def harmed(data):
    middle = len(data) // 2
    return (
        data[:middle]
        + bytes(byte ^ 0xFF for byte in data[middle : middle + 4])
        + data[middle + 4 :]
    )


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("harm", [cut, harmed, lambda _: b"none of it"])
def test_a_damaged_archive_is_an_error(tmp_path, packed, harm):
    if (packed, harm) == (".zst", harmed):
        pytest.skip("pyarrow writes no checksum")
    path = tmp_path / f"a.jsonl{packed}"
    path.write_bytes(harm(PACKERS[packed](jsonl(ROWS * 50))))
    with pytest.raises(
        BadInput, match=rf"a\.jsonl{packed}: the {packed[1:]} archive (ends|is dam)"
    ):
        describe(path)


def test_streams_one_after_another_are_one_file(tmp_path):
    for packed in (".gz", ".bz2", ".xz"):
        path = tmp_path / f"a.jsonl{packed}"
        path.write_bytes(PACKERS[packed](jsonl(ROWS[:2])) + PACKERS[packed](jsonl(ROWS[2:])))
        assert examples(path) == EXAMPLES


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("kind", [".jsonl", ".json", ".csv"])
def test_a_small_archive_of_one_long_row_does_not_fill_the_memory(
    tmp_path, monkeypatch, kind, packed
):
    monkeypatch.setattr(formats, "MAX_ROW", 1 << 20)
    start = b"context,answer\n" if kind == ".csv" else b'{"answer": "'
    path = tmp_path / f"bomb{kind}{packed}"
    path.write_bytes(PACKERS[packed](start + b"a" * (64 << 20)))
    assert path.stat().st_size < 1 << 17
    tracemalloc.start()
    try:
        try:
            (row,) = read_rows(path)
            fault = row.example
        except BadInput as error:
            fault = error
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert "is longer than 1,048,576 bytes" in str(fault)


def test_an_archive_that_asks_for_too_much_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_XZ_MEMORY", 1 << 20)
    path = tmp_path / "a.jsonl.xz"
    path.write_bytes(lzma.compress(jsonl()))  # its default asks for 9 MiB
    with pytest.raises(BadInput, match=r"the xz archive is damaged .*[Mm]emory"):
        describe(path)


def test_a_long_line_is_a_bad_row_and_the_rest_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "MAX_ROW", 200)
    monkeypatch.setattr(formats, "_BLOCK", 64)
    path = tmp_path / "a.jsonl"
    long = json.dumps({"contexts": "c" * 1000, "response": "a"}).encode() + b"\n"
    path.write_bytes(jsonl(ROWS[:1]) + long + jsonl(ROWS[1:2]))
    first, bad, last = examples(path)
    assert [first, last] == EXAMPLES[:2]
    assert "line 2, row: is longer than 200 bytes" in str(bad)
    assert describe(path).rows == 3


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.csv", b"context,answer,answer\nc,a,b\n", "first row: names answer twice; rename one"),
        ("a.csv", b"", "has no column answer and context; its first row names nothing"),
        (
            "a.csv",
            "context,answer\nc,a\n".encode("utf-16"),
            "is UTF-16 or UTF-32; save it as UTF-8",
        ),
        ("a.jsonl", jsonl().decode().encode("utf-16-le"), "is UTF-16 or UTF-32"),
        ("a.json", b'[{"a": 1}, {"a": 2}', "ends before its closing bracket"),
        ("a.json", b'[{"a": 1}, {"a": ', "row 2: is not JSON"),
        ("a.json", b'[{"a": 1} {"a": 2}]', "row 1: is not followed by a comma"),
        ("a.json", b'[{"a": 1}] x', "continues after its closing bracket"),
        ("a.json", b"[" * 100_000, "row 1: is nested too deep"),
        (
            "a.jsonl",
            gzip.compress(b"{}", mtime=0),
            r"is compressed; give it the ending \.jsonl\.gz",
        ),
        ("a.parquet", b"{}", "is not a Parquet file"),
        (
            "a.parquet.gz",
            gzip.compress(parquet(), mtime=0),
            r"is Parquet in \.gz; decompress it first",
        ),
        ("a.xlsx", b"", "unknown kind of file"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, name, data, says):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BadInput, match=says) as refused:
        list(read_rows(path))
    assert str(refused.value).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.csv", b"context,answer\nc,a,extra\nc,a\n", "row 1, row: has 3 cells, but"),
        ("a.csv", b"id,context,answer\n1,c\n2,c,a\n", "row 1, row: has 2 cells"),
        ("a.tsv", b'context\tanswer\n"c" x\ta\nc\ta\n', "row 1, row: cannot be read as a table"),
        ("a.jsonl", TWICE + b"\n" + GOOD, "line 1, row: has the key 'answer' twice"),
        ("a.json", b"[%b, %b]" % (TWICE, GOOD), "row 1, row: has the key 'answer' twice"),
        ("a.json", b"[1, %b]" % GOOD, "row 1, row: must be a JSON object"),
        ("a.json", b'[{"context": "\xff", "answer": "a"}, %b]' % GOOD, "a lone surrogate"),
    ],
)
def test_a_bad_row_is_named_and_the_rest_go_on(tmp_path, name, data, says):
    path = tmp_path / name
    path.write_bytes(data)
    bad, good = examples(path)
    assert isinstance(bad, BadInput)
    assert says in str(bad)
    assert isinstance(good, Example)
    assert describe(path).rows == 2


def test_an_open_quote_and_two_columns_of_one_name_are_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('context,answer\nc,a\n"c,a\nc,a\n')
    good, bad = examples(path)
    assert isinstance(good, Example)
    assert "row 2, row: cannot be read as a table (unexpected end of data)" in str(bad)
    columns = [pa.array(["c"]), pa.array(["a"]), pa.array(["b"])]
    pq.write_table(pa.table(columns, names=["context", "answer", "answer"]), tmp_path / "a.parquet")
    with pytest.raises(BadInput, match="names answer twice"):
        list(read_rows(tmp_path / "a.parquet"))
