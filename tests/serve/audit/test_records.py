import hashlib

import pytest
from pydantic import ValidationError

from moonlynx import Example
from moonlynx.serve.wire import Feedback, example_sha256

from ...cases import cases
from ..loopback import EXAMPLE

ROW = Example.from_row(EXAMPLE)


def test_the_hash_is_what_any_language_can_make():
    text = '{"answer":"Café.","context":["A café."],"conversation":[],"question":"","samples":[]}'
    example = Example(context="A café.", answer="Café.")
    assert example_sha256(example) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("change", "same"), cases(__file__, "hashed"))
def test_the_hash_is_of_what_was_judged(change, same):
    assert (example_sha256(Example.from_row(EXAMPLE | change)) == example_sha256(ROW)) is same


@pytest.mark.parametrize(
    ("change", "message"),
    [*cases(__file__, "bad_feedback"), ({"comment": "a" * 10_001}, "at most 10000")],
)
def test_what_says_too_much_or_too_little_is_refused(change, message):
    with pytest.raises(ValidationError, match=message):
        Feedback.model_validate({"verdict_id": "0" * 32, "label": "PASS"} | change)
