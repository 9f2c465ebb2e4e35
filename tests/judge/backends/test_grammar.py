"""The grammar of replies, by the library that enforces it."""

import json

import pytest

from moonlynx.judge.backends.grammar import json_grammar

SCHEMA = {
    "type": "object",
    "properties": {
        "REASONING": {"type": "array", "items": {"type": "string"}},
        "SCORE": {"enum": ["PASS", "FAIL"]},
    },
    "required": ["REASONING", "SCORE"],
    "additionalProperties": False,
}
REPLY = {"REASONING": ["one: two, three", "four"], "SCORE": "FAIL"}


@pytest.mark.parametrize(
    ("text", "obeys"),
    [
        (json.dumps(REPLY, separators=(",", ":")), True),
        (json.dumps(REPLY), True),
        (json.dumps(REPLY, separators=(",", ": ")), False),
        (json.dumps(REPLY, indent=1), False),
        (json.dumps(REPLY | {"SCORE": "MAYBE"}), False),
    ],
    ids=["compact", "spaced", "mixed", "lines", "no such score"],
)
def test_a_reply_has_blanks_throughout_or_none(text, obeys):
    llguidance = pytest.importorskip("llguidance")
    tokenizer = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(tokenizer, json_grammar(SCHEMA))
    assert not matcher.is_error()
    assert (
        matcher.consume_tokens(tokenizer.tokenize_str(text)) and matcher.is_accepting()
    ) == obeys
