import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given

from moonlynx.judge.text.languages import find_language

from ...strategies import any_strings

CASES = json.loads(Path(__file__).with_name("languages.json").read_text(encoding="utf-8"))
LATIN = [(code, text) for code, texts in CASES["latin"].items() for text in texts]
SHARE_OF_SHORT = 0.8  # of single sentences of some twenty letters; the others are left open


def test_a_short_sentence_is_named_rightly_or_not_at_all_and_two_are_enough():
    found = [(code, find_language(text)) for code, text in LATIN]
    assert [pair for pair in found if pair[1] not in (pair[0], None)] == []
    assert sum(name is not None for _, name in found) >= SHARE_OF_SHORT * len(LATIN)
    pairs = [
        (code, f"{one} {other}")
        for code, texts in CASES["latin"].items()
        for one, other in pairwise(texts)
    ]
    found = [(code, find_language(text)) for code, text in pairs]
    assert sum(code == name for code, name in found) >= 0.95 * len(pairs)


@pytest.mark.parametrize(
    ("code", "text"),
    [(code, text) for code, texts in CASES["other_scripts"].items() for text in texts],
)
def test_another_script_decides_by_itself(code, text):
    assert find_language(text) == code
    assert find_language(text, [text]) == code


def test_a_script_of_several_languages_and_quotations_have_no_language():
    assert find_language("Москва") == "cyrillic"
    title = "Abhandlungen aus dem Mathematischen Seminar der Universität Hamburg und der Stadt"
    assert find_language(title) == "de"
    assert find_language(title, [f"The journal is called {title}."]) is None


@pytest.mark.parametrize("text", CASES["never_foreign"])
def test_names_code_numbers_and_short_answers_have_none(text):
    assert find_language(text) in ("en", None)


@given(any_strings)
def test_every_text_has_a_language_or_none(text):
    assert find_language(text) is None or find_language(text).isascii()
