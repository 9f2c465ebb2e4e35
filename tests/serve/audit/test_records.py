"""How examples are named, and what feedback may say."""

import hashlib

import pytest
from pydantic import ValidationError

from moonlynx import Example
from moonlynx.serve.wire import Feedback, example_sha256

from ..loopback import EXAMPLE

ROW = Example.from_row(EXAMPLE)


def test_the_hash_is_what_any_language_can_make():
    text = '{"answer":"Café.","context":["A café."],"conversation":[],"question":"","samples":[]}'
    example = Example(context="A café.", answer="Café.")
    assert example_sha256(example) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"id": "other", "label": "FAIL", "source": "x"}, True),
        ({"answer": ROW.answer + " "}, False),
        ({"context": [*ROW.context, "More."]}, False),
        ({"question": ""}, False),
        ({"conversation": [{"role": "user", "content": "Hello."}]}, False),
        ({"samples": ["Another."]}, False),
    ],
)
def test_the_hash_is_of_what_was_judged(change, same):
    assert (example_sha256(Example.from_row(EXAMPLE | change)) == example_sha256(ROW)) is same


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"example_sha256": "0" * 64}, "give either"),
        ({"verdict_id": None}, "give either"),
        ({"verdict_id": "1"}, "pattern"),
        ({"label": "WRONG"}, "PASS"),
        ({"spans": [{"start": 0, "end": 1}]}, "send FAIL"),
        ({"spans": [{"start": 1, "end": 1}], "label": "FAIL"}, "end must be greater"),
        ({"comment": "a\0b"}, r"U\+0000"),
        ({"comment": "a" * 10_001}, "at most 10000"),
        ({"answer": "text"}, "Extra"),
    ],
)
def test_what_says_too_much_or_too_little_is_refused(change, message):
    with pytest.raises(ValidationError, match=message):
        Feedback.model_validate({"verdict_id": "0" * 32, "label": "PASS"} | change)
