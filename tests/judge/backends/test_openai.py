import asyncio
import logging
import threading
import time
from email.utils import formatdate

import pytest

from moonlynx.judge.backends import endpoint
from moonlynx.judge.backends.base import (
    AsyncChatBackend,
    BackendError,
    ChatReply,
    ChatRequest,
    ReplyToken,
)
from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.contract.spec import SpecError
from moonlynx.judge.contract.types import Turn

from ...cases import cases
from .loopback import error, in_turn

KEY = "sk-very-secret-0123456789"


def ask(text="hello", **settings):
    return ChatRequest((Turn(role="user", content=text),), **settings)


def completion(text="hi"):
    return {
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }


@pytest.fixture
def server(server):
    server.answer = lambda body: (200, completion())
    return server


def test_a_request_says_what_is_asked_for_and_no_more(server):
    server.load().complete([ask("hello", max_tokens=9)])
    path, body = server.requests[0]
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 9,
        "temperature": 0.0,
    }
    assert "Authorization" not in server.headers[0]
    schema = {"type": "object"}
    server.load().complete([ask(schema=schema, seed=3, temperature=0.5, logprobs=True)])
    _, body = server.requests[1]
    assert (body["seed"], body["temperature"]) == (3, 0.5)
    assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"] == schema


def test_replies_keep_order_and_usage_is_read_back(server):
    last = threading.Event()

    def last_first(body):
        text = body["messages"][0]["content"]
        last.set() if text == "7" else last.wait(60)
        return 200, completion(text)

    server.answer = last_first
    replies = server.load().complete([ask(str(n)) for n in range(8)])
    assert [reply.text for reply in replies] == [str(n) for n in range(8)]
    assert replies[0] == ChatReply(text="0", finish="stop", input_tokens=7, output_tokens=2)
    assert server.load().complete([]) == []


def test_no_more_requests_are_under_way_than_allowed(server):
    three = threading.Barrier(3)  # as many as are under way together, and no fewer

    def together(body):
        three.wait(60)
        return 200, completion()

    server.answer = together
    backend = server.load(concurrency=3)

    async def two_calls():
        return await asyncio.gather(
            backend.acomplete([ask() for _ in range(6)]),
            backend.acomplete([ask() for _ in range(6)]),
        )

    replies = asyncio.run(two_calls())
    assert [len(part) for part in replies] == [6, 6]
    assert server.most == 3


def test_complete_works_within_a_running_event_loop(server):
    backend = server.load()
    assert isinstance(backend, AsyncChatBackend)

    async def call():
        return backend.complete([ask()])

    assert asyncio.run(call())[0].text == "hi"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(server, status):
    server.answer = in_turn((status, "busy"), (status, error("busy")), (200, completion()))
    (reply,) = server.load().complete([ask()])
    assert (reply.text, len(server.requests)) == ("hi", 3)


def test_what_does_not_pass_is_that_replys_error(server):
    server.answer = lambda body: (
        (429, error("slow down")) if body["messages"][0]["content"] == "b" else (200, completion())
    )
    before, failed, after = server.load(retries=2).complete([ask("a"), ask("b"), ask("c")])
    assert (before.text, after.text) == ("hi", "hi")
    assert (failed.finish, failed.error.code) == ("error", "backend")
    assert failed.error.message == "HTTP 429: slow down (tried 3 times)"


@pytest.mark.parametrize(("status", "body", "code", "message"), cases(__file__, "error_answers"))
def test_what_cannot_pass_is_an_error_and_not_tried_again(server, status, body, code, message):
    server.answer = lambda _: (status, body)
    (reply,) = server.load().complete([ask()])
    assert (reply.finish, reply.error.code) == ("error", code)
    assert message in reply.error.message
    assert len(server.requests) == 1


REFUSALS = [
    "property 'logprobs' is unsupported",
    {"error": {"message": "This model does not support the 'logprobs' parameter."}},
]


@pytest.mark.parametrize("complaint", REFUSALS)
def test_a_server_that_refuses_logprobs_is_asked_without_from_then_on(server, complaint):
    server.answer = lambda body: (400, complaint) if "logprobs" in body else (200, completion())
    backend = server.load()
    replies = backend.complete([ask(logprobs=True), ask(), ask(logprobs=True)])
    assert [(reply.text, reply.tokens) for reply in replies] == [("hi", None)] * 3
    assert len(server.requests) == 5
    backend.complete([ask(logprobs=True)])
    assert "logprobs" not in server.requests[-1][1]
    assert len(server.requests) == 6


def test_a_complaint_that_quotes_the_word_leaves_logprobs_as_they_are(server):
    server.answer = in_turn(
        (400, "bad text: logprobs"), (400, "bad text: logprobs"), (200, completion())
    )
    backend = server.load()
    (reply,) = backend.complete([ask("logprobs", logprobs=True)])
    assert reply.error.message == "HTTP 400: bad text: logprobs"
    backend.complete([ask(logprobs=True)])
    assert server.requests[-1][1]["logprobs"] is True


def test_the_server_is_given_the_time_it_asks_for(server):
    server.answer = in_turn((429, "", ("Retry-After", "0.3")), (200, completion()))
    start = time.monotonic()
    (reply,) = server.load().complete([ask()])
    assert reply.text == "hi"
    assert time.monotonic() - start >= 0.3


@pytest.mark.parametrize(
    "far", ["3600", formatdate(time.time() + 3600, usegmt=True)], ids=["seconds", "date"]
)
def test_a_server_that_asks_for_an_hour_is_taken_to_refuse(server, far):
    server.answer = lambda _: (429, error("quota"), ("Retry-After", far))
    (reply,) = server.load().complete([ask()])
    assert reply.error.message == "HTTP 429: quota"


@pytest.mark.heavy
def test_a_reply_that_never_comes_is_a_timeout(server):
    over = threading.Event()

    def never(body):
        if body["messages"][0]["content"] == "slow":
            over.wait(60)
        return 200, completion()

    server.answer = never
    slow, quick = server.load(timeout=0.5, retries=1).complete([ask("slow"), ask("quick")])
    over.set()
    assert (slow.finish, slow.error.code) == ("error", "timeout")
    assert slow.error.message.endswith(
        "within 0.5 seconds; where it needs longer, say so as in ?timeout=600 (tried 2 times)"
    )
    assert quick.text == "hi"


@pytest.mark.parametrize(("answer", "finish", "text"), cases(__file__, "finishes"))
def test_a_cut_and_a_refusal_are_told_apart(server, answer, finish, text):
    server.answer = lambda _: answer
    (reply,) = server.load().complete([ask()])
    assert (reply.finish, reply.text, reply.error) == (finish, text, None)


def token(text, logprob=-0.5, top=(), raw=None):
    raw = list(text.encode()) if raw is None else raw
    return {"token": text, "logprob": logprob, "bytes": raw, "top_logprobs": list(top)}


def reply_tokens(server, text, logprobs):
    answer = completion(text)
    answer["choices"][0]["logprobs"] = logprobs
    server.answer = lambda _: (200, answer)
    return server.load().complete([ask(logprobs=True)])[0].tokens


def test_tokens_stand_among_their_alternatives_and_join_split_characters(server):
    chosen = token("PA", -2.0, [token("FA", -0.2), token("PA", -2.0), token("X", -9999.0)])
    tokens = reply_tokens(server, "PASS", {"content": [chosen, token("SS"), token("<eos>")]})
    assert tokens[0] == ReplyToken("PA", -2.0, (("FA", -0.2), ("PA", -2.0)))
    assert tokens[1] == ReplyToken("SS", -0.5, (("SS", -0.5),)), "absent from its own list"
    halves = [token("\\xc3", raw=[0xC3]), token("\\xa9", raw=[0xA9])]
    tokens = reply_tokens(server, "é!", {"content": [*halves, token("!")]})
    assert [t.text for t in tokens] == ["", "é", "!"]
    assert all(t.text in dict(t.top) for t in tokens)


def test_a_reply_given_without_its_fence_keeps_its_own_tokens(server):
    said = ["I think: PASS", "\n", "```", "json\nPA", "SS", "\n```"]
    tokens = reply_tokens(server, "PASS", {"content": [token(text) for text in said]})
    assert [t.text for t in tokens] == ["PA", "SS", "\n```"], "from the last place of the text"
    assert tokens[1].top == (("SS", -0.5),)


@pytest.mark.parametrize("logprobs", cases(__file__, "no_logprobs"))
def test_logprobs_that_are_absent_or_do_not_fit_are_none(server, logprobs):
    assert reply_tokens(server, "PASS", logprobs) is None


def test_an_endpoint_that_is_not_there_is_an_error_that_says_where(server):
    server.close()
    first, second = server.load(concurrency=1).complete([ask(), ask()])
    for reply in (first, second):
        assert (reply.finish, reply.error.code) == ("error", "backend")
        assert f"cannot reach {server.url}" in reply.error.message
        assert "is the server up" in reply.error.message
    assert first.error.message.endswith("(tried 6 times)")
    assert "tried" not in second.error.message, "it need not wait for the same again"


def test_a_model_that_is_not_named_is_asked_for_and_a_url_checked(server):
    server.answer = lambda _: (200, {"data": [{"id": "org/only"}]})
    backend = server.load(model=None)
    assert backend.name == f"org/only@{server.url}"
    assert server.requests == [("/v1/models", None)]
    with pytest.raises(SpecError, match="is no URL"):
        load_chat_backend("http://localhost:port/v1", "m", {})


@pytest.mark.parametrize(("answer", "message"), cases(__file__, "no_models"))
def test_a_model_that_cannot_be_told_must_be_named(server, answer, message, monkeypatch):
    monkeypatch.setenv(endpoint.KEY_VARIABLE, KEY)
    server.answer = lambda _: answer
    with pytest.raises(BackendError, match=message):
        server.load(model=None)


def test_the_key_is_sent_and_never_shown(server, monkeypatch, caplog):
    monkeypatch.setenv(endpoint.KEY_VARIABLE, KEY)
    caplog.set_level(logging.DEBUG)
    server.answer = lambda _: (401, error(f"Incorrect API key: {KEY}. " + "x" * 2000))
    backend = server.load()
    (reply,) = backend.complete([ask()])
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert reply.error.message.startswith("HTTP 401: Incorrect API key: ***. xxx")
    assert len(reply.error.message) == 500
    assert KEY not in repr(reply) + repr(vars(backend)) + backend.name
    assert caplog.text
    assert KEY not in caplog.text
