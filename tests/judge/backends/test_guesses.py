"""Guessed replies are what the model says by itself, in fewer passes."""

import pytest

from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.backends.guesses import guess_replies
from moonlynx.judge.contract.types import Turn
from moonlynx.judge.judges.lynx import reply_schema

from ...one_thread import one_thread  # noqa: F401

PROMPTS = ("Is the bridge older than the tower?", "Say PASS or FAIL.", "FAIL", "The river rises.")
SCHEMA = reply_schema("score")


def test_replies_are_guessed_where_they_are_few():
    assert guess_replies(SCHEMA) == ['{"SCORE": "PASS"}', '{"SCORE": "FAIL"}']
    assert guess_replies(reply_schema("reasoning-first")) == []
    assert guess_replies({"enum": ["PASS"]}) == []
    three = {"type": "object", "required": ["a", "b"]}
    three["properties"] = {name: {"enum": ["x", "y", "z"]} for name in three["required"]}
    assert guess_replies(three) == []
    assert guess_replies(three | {"required": ["a"]}) == []


@pytest.fixture(scope="module")
def backend(tiny_llama):
    return load_chat_backend("transformers", str(tiny_llama), {"load": "fp32"})


def ask(text):
    turns = (Turn(role="user", content=text),)
    return ChatRequest(turns, max_tokens=40, schema=SCHEMA, logprobs=True)


@pytest.fixture
def passes(backend, monkeypatch):
    counted = []
    forward = backend._model.forward

    def count(*args, **options):
        counted.append(options["input_ids"].shape[1])
        return forward(*args, **options)

    monkeypatch.setattr(backend._model, "forward", count)
    return counted


@pytest.mark.heavy
def test_guesses_change_no_reply(backend, monkeypatch):
    assert backend._guesser.works
    guessed = backend.complete([ask(text) for text in PROMPTS])
    monkeypatch.setattr(backend._guesser, "works", False)
    for one, other in zip(guessed, backend.complete([ask(text) for text in PROMPTS]), strict=True):
        assert (one.text, one.finish) == (other.text, other.finish)
        assert one.output_tokens == other.output_tokens
        assert [token.text for token in one.tokens] == [token.text for token in other.tokens]
        for token, same in zip(one.tokens, other.tokens, strict=True):
            assert token.logprob == pytest.approx(same.logprob, abs=1e-4)


@pytest.mark.heavy
@pytest.mark.parametrize("limit", [3, 40])
def test_a_right_guess_takes_one_pass_and_a_wrong_end_two(backend, passes, limit):
    prompt = backend._prepare(0, ask(PROMPTS[0])).prompt
    complete = backend._guesser.complete
    said = complete(prompt, [], limit, [])
    assert len(passes) == len(said) == limit
    for guesses, read in (
        ([said], [len(prompt) + limit]),
        ([[*said[:2], 0], said], [len(prompt) + 3] + [limit - 2] * (limit > 3)),
        ([[0]], [len(prompt) + 1] + [1] * (limit - 1)),
    ):
        passes.clear()
        assert complete(prompt, guesses, limit, []) == said
        assert passes == read
