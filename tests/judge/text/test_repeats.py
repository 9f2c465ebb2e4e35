"""A text that says a thing over and over is read in time: the rules have no exponential pattern.

A pattern that had one would read these for hours, and the test's time would be up.
"""

from collections.abc import Iterator

import pytest

from moonlynx.judge.text import (
    announcement_end,
    claims_nothing,
    find_denial,
    read_markup,
    split_sentences,
)
from moonlynx.judge.text.acronyms import find_short
from moonlynx.judge.text.near_copies import find_changes
from moonlynx.judge.text.periods import find_periods
from moonlynx.judge.text.quantities import find_literals
from moonlynx.judge.text.tables import find_tables

pytestmark = pytest.mark.heavy

LONGEST_DENIAL = 300  # characters that are read
READERS = [
    claims_nothing,
    find_literals,
    find_periods,
    find_short,
    find_tables,
    read_markup,
    split_sentences,
]
UNITS = [
    *("in text ", "by the faq ", "note  ", "note that in  text ", "there is no data on ", "or a, "),
    *("no more than ", "in or up to ", "here is ", "such as a, ", "not ", "5 kg and ", "1/2 "),
    *("\t", "  ", " \n", "**", "* ", "__", "`", "[1]", "((", "<a>", "|-", ": ", "- ", "1. ", "“"),
    *("A. ", "e.g. ", "…", "-", "/", "’s ", "1:1 ", "$1", '{"a":', '["a",', "é", "中。"),
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_denial_is_looked_for_in_time(unit):
    text = unit * (LONGEST_DENIAL // len(unit))
    for sentence in (text, f"{text[: LONGEST_DENIAL - 4]} is?"):
        assert find_denial(sentence) is None


@pytest.mark.parametrize("unit", UNITS)
def test_an_announcement_is_looked_for_in_time(unit):
    question = unit * (20_000 // len(unit))
    assert announcement_end("Here is the price: it is 5 dollars.", question) == 0
    assert announcement_end(f"{question}: it is 5 dollars.", "What is the price?") == 0


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("read", READERS, ids=lambda reader: reader.__name__)
def test_a_text_is_read_in_time(read, unit):
    text = unit * (20_000 // len(unit))
    for whole in (text, f"It is a lamp {text}zz"):
        found = read(whole)
        found = [*found] if isinstance(found, Iterator) else found
        assert found is not None
        if read is split_sentences:
            assert all(whole[start:end] == piece for start, end, piece in found)


@pytest.mark.parametrize("unit", UNITS)
def test_a_copy_is_compared_in_time(unit):
    text = f"It is a lamp {unit * (5_000 // len(unit))}"
    assert not find_changes(text, text)
