from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.backends.base import ReplyToken
from moonlynx.judge.backends.replies import spell

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
