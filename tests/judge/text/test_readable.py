import json
from pathlib import Path

import pytest
from hypothesis import given

from moonlynx.judge.text import claims_nothing, split_sentences
from moonlynx.judge.text.readable import is_language

from ...strategies import any_strings

CASES = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))


def claims_something(answer):
    return not all(claims_nothing(piece.text) for piece in split_sentences(answer))


def test_there_are_fifty_cases_of_each_class():
    assert {len(set(cases)) for cases in CASES.values()} == {50}


@pytest.mark.parametrize("answer", CASES["says_nothing"])
def test_what_people_say_without_a_claim_is_language(answer):
    assert is_language(answer, ())
    assert not claims_something(answer)


@pytest.mark.parametrize("answer", CASES["judged"])
def test_short_answers_are_judged(answer):
    assert is_language(answer, ())
    assert claims_something(answer)


@pytest.mark.parametrize(
    "answer", [*CASES["not_language"], "a" * 1_000_000, "asdf " * 200_000, "哈" * 1_000_000]
)
def test_what_is_not_language(answer):
    assert not is_language(answer, ["It opened in 1932. It is green."])


@pytest.mark.parametrize("answer", ["x", "asdf", "da39a3ee5e6b4b0d3255bfef95601890afd80709"])
def test_a_word_that_was_given_is_language(answer):
    assert not is_language(answer, ["Which option is right?"])
    assert is_language(answer, ["Which option is right?", f"It is ({answer.upper()})."])


def test_noise_beside_an_answer_does_not_hide_it():
    assert is_language("Paris, asdfgh", ())
    assert not is_language("asdfgh zxcvb Paris", ())


@given(any_strings)
def test_every_text_is_one_or_the_other(text):
    assert is_language(text, ()) in (True, False)
    # What the documents hold word for word is never refused, unless it has no word.
    assert is_language(text, (text,)) or not any(map(str.isalnum, text))
