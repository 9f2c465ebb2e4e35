import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.text.flatten import flatten

from ...cases import cases
from ...strategies import any_strings, prose

HOTEL = json.loads(Path(__file__).with_name("hotel.json").read_text(encoding="utf-8"))


def said(document):
    pieces = flatten(document)
    return pieces and [(piece.text, document[piece.start : piece.end]) for piece in pieces]


# A document, and what its lines say with the ranges that they say; null for prose.
@pytest.mark.parametrize(("document", "lines"), cases(__file__, "lines"))
def test_records_and_tables_are_lines_and_prose_stays_prose(document, lines):
    assert said(document) == (lines and [tuple(line) for line in lines])


@pytest.mark.parametrize("write", [json.dumps, repr, lambda value: json.dumps(value, indent=2)])
def test_a_record_however_it_is_written(write):
    assert [text for text, _ in said(write(HOTEL["record"]))] == HOTEL["lines"]


def test_a_long_text_keeps_its_places_and_a_wide_row_goes_over_several_lines():
    text = '"Wide" pool. ' + "It is 5 °C in the water and the bar is near the sea. " * 5
    document = json.dumps({"id": 7, "text": text})
    lines = said(document)
    assert lines[1] == ('text: "Wide" pool.', '\\"Wide\\" pool.')
    assert set(lines[2:]) == {
        (
            "text: It is 5 °C in the water and the bar is near the sea.",
            "It is 5 \\u00b0C in the water and the bar is near the sea.",
        )
    }
    names = [f"column {number}" for number in range(40)]
    rows = [[f"cell{row}x{number}" for number in range(40)] for row in range(2)]
    lines = said("\n".join(",".join(row) for row in [names, *rows]))
    assert len(lines) > 4
    assert all(len(text.split()) <= 40 for text, _ in lines)
    assert {text.split(";")[0] for text, _ in lines} == {"column 0: cell0x0", "column 0: cell1x0"}
    for row in rows:
        for cell in row:
            assert any(f": {cell}" in text for text, _ in lines)


def check(document):
    pieces = flatten(document)
    begun = done = 0
    for piece in pieces or ():
        assert (begun if piece.absent else done) <= piece.start < piece.end <= len(document)
        assert piece.text.strip()
        begun, done = piece.start, done if piece.absent else piece.end
    return pieces


@pytest.mark.fuzz
@given(any_strings | prose)
def test_any_string_is_taken(document):
    check(document)


_JSONISH = st.lists(
    st.sampled_from([*"{}[](),:\"'|\n #\\", '"a": 1', "'b'", "None", "3.5", "x,y", "---"])
).map("".join)


@pytest.mark.fuzz
@given(_JSONISH)
def test_damaged_records_are_taken(document):
    check(document)


_WORDS = st.text("abcdeé🎉", min_size=1, max_size=8)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=4),
)


def leaves(value, name=None):
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, key)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner)]
    if isinstance(value, bool):
        return [name or ("yes" if value else "no")]
    return [] if value is None else [str(value)]


@pytest.mark.fuzz
@given(st.dictionaries(_WORDS, _VALUES, min_size=1, max_size=4))
def test_every_value_is_said_in_json_and_in_python(record):
    lines = check(json.dumps(record))
    assert [piece.text for piece in check(repr(record))] == [piece.text for piece in lines]
    text = " ".join(piece.text for piece in lines)
    assert [leaf for leaf in leaves(record) if leaf not in text] == []


@pytest.mark.parametrize(
    "document",
    [
        "[" * 20_000,
        '{"a":' * 20_000,
        "[\n" * 10_000,
        '["a",\n' * 10_000,
        '{"a": "' + "b\\" * 20_000,
        "|" * 20_000,
        "a,b\n" * 10_000,
        json.dumps([{"id": number, "text": "word " * 20} for number in range(600)]),
        json.dumps({"a": "One two three. " * 2_000}),
    ],
    ids=lambda document: document[:8],
)
def test_a_long_document_takes_no_more_than_its_length(document):
    start = time.process_time()
    check(document)
    assert time.process_time() - start < 5
