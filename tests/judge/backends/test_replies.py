import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.backends.base import ReplyToken
from moonlynx.judge.backends.replies import among, enum_places, log_softmax, spell

END = 256


def decode(ids):
    """Decode as a byte-level tokenizer does that has one special token."""
    return bytes(i for i in ids if i != END).decode("utf-8", errors="replace")


def name(token):
    return "<end>" if token == END else None


def spelled(ids, steps=None):
    return list(spell(decode, name, ids, steps or [(0.0, [])] * len(ids)))


def test_a_token_within_a_character_leaves_its_text_to_the_next():
    ids = list("é!".encode())
    steps = [(-1.0, [(ids[0], -1.0), (65, -2.0), (END, -3.0)]), (-1.0, [(0xA8, -0.5)]), (-1.0, [])]
    first, second, third = spelled(ids, steps)
    assert first == ReplyToken("", -1.0, (("", -1.0), ("A", -2.0), ("<end>", -3.0)))
    assert second == ReplyToken("é", -1.0, (("è", -0.5), ("é", -1.0)))
    assert third.text == "!"


@given(st.binary(max_size=60))
def test_token_texts_join_to_the_text_of_any_bytes(ids):
    tokens = spelled(ids)
    assert len(tokens) == len(ids)
    assert "".join(token.text for token in tokens) == decode(ids)


def test_a_word_of_an_enum_that_json_escapes_has_no_alternatives():
    text = '{"A": "x\\"y", "B": "no"}'
    tokens = [ReplyToken(piece, -1.0) for piece in ('{"A": "x', '\\"y", "B":', ' "', "no", '"}')]
    schema = {"properties": {"A": {"enum": ['x"y']}, "B": {"enum": ["no", "yes"]}, "C": True}}
    places = dict(enum_places(tokens, text, schema))
    assert places[3] == ['no"', 'yes"']
    assert among(places[3], [("ye", -1.0), ("n", -2.0), ('no"}', -3.0), ("o", -0.1)]) == [
        ("ye", -1.0),
        ("n", -2.0),
        ('no"}', -3.0),
    ]
    assert among(places[0], [(tokens[0].text, -1.0)]) == [(tokens[0].text, -1.0)]


def test_logprobs_among_candidates_sum_to_one_however_unlikely_they_were():
    assert list(log_softmax([])) == []
    assert dict(log_softmax([("a", -900.0), ("b", -900.0)])) == pytest.approx(
        {"a": -0.6931, "b": -0.6931}, abs=1e-4
    )
