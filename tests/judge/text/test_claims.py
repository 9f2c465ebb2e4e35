import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.text import claims_nothing

from ...strategies import any_strings, prose

CASES = json.loads(Path(__file__).with_name("claims.json").read_text(encoding="utf-8"))


def test_there_are_enough_cases_and_nothing_long_claims_nothing():
    assert min(len(CASES["claims_nothing"]), len(CASES["claims"])) >= 30
    assert claims_nothing("I don't know. " * 20)
    assert not claims_nothing("I don't know. " * 30)


@pytest.mark.parametrize("sentence", CASES["claims_nothing"])
def test_a_sentence_that_claims_nothing(sentence):
    assert claims_nothing(sentence)


@pytest.mark.parametrize("sentence", CASES["claims"])
def test_a_sentence_that_claims_something(sentence):
    assert not claims_nothing(sentence)


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        str.lower,
        lambda sentence: f"“{sentence}”",
        lambda sentence: f"**{sentence}**",
        lambda sentence: sentence.replace("'", "’"),
        lambda sentence: sentence.replace(" ", "\u00a0 "),
    ],
    ids=["upper", "lower", "quotes", "bold", "apostrophe", "spaces"],
)
def test_dress_does_not_matter(change):
    sentences = [case for case in CASES["claims_nothing"] if not case.startswith("1.")]
    assert [sentence for sentence in sentences if not claims_nothing(change(sentence))] == []


@pytest.mark.parametrize("mark", ["- ", "  * ", "1. ", "(2) ", "b) ", "• "])
def test_a_list_mark_does_not_matter(mark):
    assert claims_nothing(f"{mark}I don't know.")
    assert not claims_nothing(f"{mark}I do know.")


@pytest.mark.parametrize("lead", ["I'm sorry, but ", "Unfortunately, ", "Based on the passages, "])
def test_phrases_chain(lead):
    sentences = [case for case in CASES["claims_nothing"] if not case.startswith(("1.", "|"))]
    assert [sentence for sentence in sentences if not claims_nothing(lead + sentence)] == []


@pytest.mark.parametrize("claim", ["The fee is $30.", "It is open.", "Paris.", "42", "今天。"])
def test_a_claim_beside_a_phrase_is_not_excused(claim):
    for sentence in CASES["claims_nothing"]:
        assert not claims_nothing(f"{sentence} {claim}")
        assert not claims_nothing(f"{claim} {sentence}")


def test_a_heading_without_a_word_is_read():
    assert claims_nothing("# ") in (True, False)


@pytest.mark.fuzz
@given(prose | any_strings)
def test_any_string_is_read(text):
    assert claims_nothing(text) in (True, False)


@pytest.mark.fuzz
@given(st.text(st.characters(exclude_categories=["L", "N"])))
def test_a_text_without_letters_and_digits_claims_nothing(text):
    assert claims_nothing(text)


@pytest.mark.fuzz
@given(
    st.sampled_from(CASES["claims_nothing"]),
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["", "$", "€"]),
        st.integers(1, 10**9).map("{:,}".format),
        st.sampled_from(["", ".5", ".", ","]),
        st.sampled_from(["", "%"]),
    ),
)
def test_a_number_is_a_claim(sentence, number):
    assert not claims_nothing(f"{sentence} {number}")


# Chains that break off at their last word: an engine that goes back tries every way to read them.
@pytest.mark.parametrize(
    "unit",
    [
        *("sorry ", "sorry, but ", "that ", "and so ", "i can not ", "i am sorry about it "),
        *("in the given context ", "the data provided ", "let me know if you need more help "),
        *("with the given context search context provided ", "based on the ", "any any ", "great "),
    ],
)
def test_a_broken_chain_is_given_up_at_once(unit):
    sentence = (unit * 300)[:290] + " the fee"
    start = time.process_time()
    assert not claims_nothing(sentence)
    # Going back would take longer than the age of the universe; a second is no close call.
    assert time.process_time() - start < 1
