import json

import pytest

from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.rows.examples import describe, read_rows

GOOD = {"id": "a", "question": "Q?", "context": ["one", "two"], "answer": "yes"}


def write(path, lines):
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def test_jsonl_rows_keep_order_line_and_an_id_that_can_be_written(tmp_path):
    lines = [json.dumps(GOOD).encode(), b"", json.dumps(GOOD | {"id": 7, "context": "x"}).encode()]
    rows = list(read_rows(write(tmp_path / "in.jsonl", lines)))
    assert [(row.line, row.id) for row in rows] == [(1, "a"), (3, 7)]
    assert rows[1].example == Example(id=7, question="Q?", context=("x",), answer="yes")
    lines = [b'{"id": "x"}', rb'{"id": "\ud800"}', b'{"id": true}', b'{"id": 1.5}']
    rows = list(read_rows(write(tmp_path / "in.jsonl", lines)))
    assert [row.id for row in rows] == ["x", None, None, None]


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (b"{", "bad_input", "line 2, row: is not a JSON object"),
        (b"[1]", "bad_input", "line 2, row: must be a JSON object"),
        (b'{"answer": "\xff"}', "bad_input", "line 2, row: is not UTF-8 at byte 12"),
        (b'{"context": "c"}', "bad_input", "line 2, answer: is missing"),
        (b'{"context": 3, "answer": "a"}', "bad_input", "line 2, context: must be a string or"),
        (b'{"context": " ", "answer": "a"}', "empty_context", "line 2, context: holds no text"),
        (b'{"context": "c", "answer": ""}', "empty_answer", "line 2, answer: holds no text"),
        (rb'{"context": "c", "answer": "\ud800"}', "bad_input", "line 2, answer: holds a lone"),
        (b"[" * 100_000, "bad_input", "line 2, row: is not a JSON object"),
    ],
)
def test_a_bad_row_names_line_and_field_and_the_rest_go_on(tmp_path, line, code, says):
    good = json.dumps(GOOD).encode()
    first, bad, last = read_rows(write(tmp_path / "in.jsonl", [good, line, good]))
    assert isinstance(bad.example, BadInput)
    assert bad.example.code == code
    assert str(bad.example).startswith(says)
    assert first.example == last.example == Example.from_row(GOOD)


def test_csv_reads_lists_texts_and_empty_cells_and_names_what_is_not_utf8(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(
        "id,question,context,answer,label\n"
        'a,Q?,"[""one"", ""two""]",yes,\n'
        'b,,"[sic] a text\nof two lines",no,FAIL\n'
        "c,,,no,\n",
        encoding="utf-8-sig",
    )
    listed, text, empty = read_rows(path)
    assert listed.example == Example.from_row(GOOD)
    assert text.example == Example(
        id="b", context=("[sic] a text\nof two lines",), answer="no", label="FAIL"
    )
    assert isinstance(empty.example, BadInput)
    assert empty.example.code == "empty_context"
    assert describe(path).rows == 3
    path = tmp_path / "in.csv"
    path.write_bytes(b"context,answer\nc,caf\xe9\nc,tea\n")
    bad, good = read_rows(path)
    assert isinstance(bad.example, BadInput)
    assert "lone surrogate" in str(bad.example)
    assert isinstance(good.example, Example)
