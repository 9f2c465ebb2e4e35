import gc
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.text import content_tokens, words

from ...cases import cases
from ...strategies import any_strings, prose


@pytest.mark.parametrize(("text", "forms"), cases(__file__, "forms"))
def test_forms(text, forms):
    expected = [unicodedata.normalize("NFKC", form) for form in forms]
    assert [token.form for token in words(text)] == expected


def test_content_tokens_leave_stop_words_out():
    text = "It's what they've said: the pool isn't open, and not on 3 May."
    assert [token.form for token in content_tokens(text)] == [
        *("said", "pool", "isn't", "open", "not", "3"),
    ]


def check_tokens(text):
    tokens = list(words(text))
    previous_start = previous_end = 0
    for token in tokens:
        assert 0 <= token.start < token.end <= len(text)
        assert token.form
        assert not any(character.isspace() for character in text[token.start : token.end])
        # Pairs of characters overlap by one; nothing else does.
        assert token.start > previous_start or token.start == previous_end
        assert token.start >= previous_end - 1
        previous_start, previous_end = token.start, token.end
    content = content_tokens(text)
    assert set(content) <= set(tokens)
    assert content == [token for token in tokens if token in set(content)]


@pytest.mark.fuzz
@given(prose)
def test_tokens_of_prose_are_slices_with_forms(text):
    check_tokens(text)


@pytest.mark.fuzz
@given(any_strings)
def test_any_string_has_tokens(text):
    check_tokens(text)


@pytest.mark.fuzz
@given(st.text(st.characters(categories=["Ll", "Lu", "Nd", "Zs", "Po"], max_codepoint=0xFF)))
def test_case_does_not_matter(text):
    upper, lower = ([token.form for token in words(t)] for t in (text.upper(), text.lower()))
    assert upper == lower


@pytest.mark.fuzz
@given(prose, prose)
def test_a_text_has_the_tokens_of_its_parts(first, second):
    together = [token.form for token in words(f"{first}\n{second}")]
    assert together == [token.form for text in (first, second) for token in words(text)]


@pytest.mark.heavy
def test_every_character_that_makes_a_token_gives_it_a_form():
    bare = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if any(not token.form.strip() for token in words(chr(code)))
    ]
    assert bare == []


@pytest.fixture
def uncollected():
    """Collect no garbage: what it costs grows faster than the text, and is not the tokenizer's."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.slow
@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("unit", ["fee ", "a", "1", "1.", "a'", "今", "\u0301", "9,999", "' ", "_"])
def test_time_grows_with_the_text(unit):
    def seconds(length):
        text = unit * (length // len(unit))
        start = time.process_time()
        content_tokens(text)
        return time.process_time() - start

    # Eight times the text; a quadratic tokenizer would take 64 times as long.
    short = max(min(seconds(125_000) for _ in range(3)), 0.005)
    assert min(seconds(1_000_000) for _ in range(2)) < 24 * short
