"""Markup is blanked and never cut, citations are read, and denials are told from claims."""

import json

import pytest
from hypothesis import given

from moonlynx.judge.text import claims_nothing, find_denial, read_markup
from moonlynx.judge.text.sources import find_document

from ...cases import cases
from ...strategies import any_strings, prose


@pytest.mark.fuzz
@given(prose | any_strings)
def test_text_keeps_its_length_and_all_that_is_not_blanked(answer):
    text, marks = read_markup(answer)
    assert len(text) == len(answer)
    assert all(new in (" ", old) for new, old in zip(text, answer, strict=True))
    assert list(marks) == sorted(marks)
    assert all(0 <= mark.start < mark.end <= len(answer) for mark in marks)


@pytest.mark.parametrize("case", cases(__file__, "markup"), ids=lambda case: case["answer"][:40])
def test_what_is_markup_and_what_it_cites(case):
    text, marks = read_markup(case["answer"])
    assert " ".join(text.split()) == case["text"]
    assert [list(mark.cited) for mark in marks] == case.get("cited", [])
    assert any(mark.whole for mark in marks) == case.get("whole", False)


DOCUMENTS = (
    "Opening hours\nThe library opens at 9:00.",
    "FAQ: Where do I park? In Mill Lane.",
    '{"title": "Fees", "url": "https://town.example/fees", "adult": 12}',
    "passage 7: The mill closed in 1961.",
    "",
)


@pytest.mark.parametrize(
    ("cited", "document"),
    [
        *(("1", 0), ("5", 4), ("0", None), ("6", None), ("7", 3)),
        *(("opening hours", 0), ("FAQ", 1), ("Fees", 2), ("Opening", 0), ("Prices", None)),
        *(("[here](https://town.example/fees)", 2), ("https://town.example/rooms", None)),
    ],
)
def test_a_citation_is_resolved(cited, document):
    assert find_document(cited, DOCUMENTS) == document


@pytest.mark.parametrize("case", cases(__file__, "denials"), ids=json.dumps)
def test_denials_are_told_from_claims(case):
    sentence, topic, *whole = case
    found = find_denial(sentence)
    assert (sentence[found.start : found.end] if found else None) == topic
    assert found is None or found.whole == all(whole)


@pytest.mark.parametrize(
    ("sentence", "silent"),
    [
        *(("## Opening hours", True), ("**Summary:**", True), ("(Source: FAQ)", True)),
        *(("```python", True), ("[1][2]", True), ("## It opened in 1950", False)),
        *(("## The bridge is closed", False), ("**1932**", False), ("**Paris**.", False)),
        ("# The council sold the old mill to a brewery", False),
    ],
)
def test_markup_and_headings_claim_nothing(sentence, silent):
    assert claims_nothing(sentence) == silent


def test_a_long_answer_of_open_brackets_is_read_in_linear_time():
    answer = "[" * 100_000 + "(source: " * 10_000 + "* " * 100_000 + "\n" * 100_000
    assert len(read_markup(answer).text) == len(answer)
