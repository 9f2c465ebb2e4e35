"""A name in short and the same in full."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.text.acronyms import find_full, find_short

from ...cases import cases


@pytest.mark.parametrize("case", cases(__file__, "acronyms"), ids=json.dumps)
def test_the_full_name_begins_with_the_letters(case):
    text, short, names = case
    assert [text[name.start : name.end] for name in find_full(text, short)] == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The WHO, the MoI and NASA (U.S.)", ["WHO", "MoI", "NASA", "U.S."]),
        ("A B, WHO-led, Mr and A.", []),
        ("the EU.", ["EU"]),
    ],
)
def test_what_is_short_has_capitals(text, names):
    assert [text[name.start : name.end] for name in find_short(text)] == names


words = st.lists(st.sampled_from(["Lake", "Union", "of", "the", "Interior", "Bank"]), max_size=200)


@given(words)
def test_any_words_are_read_in_time(some):
    text = " ".join(some)
    for name in find_full(text, "LUBI"):
        assert text[name.start].lower() == "l"
