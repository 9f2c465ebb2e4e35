import math

import pytest

from moonlynx.judge.backends.base import ChatReply, ReplyToken
from moonlynx.judge.judges.prompted.polls import ChainPoll, PlainPrompt

from ....cases import cases
from .scripted import EXAMPLE, judged, section

YES = {"explanation": "It says so.", "classification": True}
NO = {"explanation": "Tin is not mentioned.", "classification": False}


def judge_one(method, *replies):
    return judged(method, list(replies))


@pytest.mark.parametrize(("replies", "raw_score", "score"), cases(__file__, "polls"))
def test_the_share_of_polls_is_the_score(replies, raw_score, score):
    backend, verdict = judge_one(ChainPoll("m"), *replies)
    assert (verdict.raw_score, verdict.score) == (raw_score, score)
    assert verdict.reasoning == tuple(reply["explanation"] for reply in replies)
    assert (verdict.usage.calls, verdict.sentences) == (3, ())
    assert [request.seed for request in backend.requests] == [0, 1, 2]
    assert {request.temperature for request in backend.requests} == {1.0}
    assert section(backend.requests[0], "RESPONSE") == EXAMPLE.answer


def test_polls_and_threshold_are_options_and_a_poll_that_cannot_be_read_is_no_vote():
    assert judge_one(ChainPoll("m", polls=1), NO)[1].score == "FAIL"
    assert judge_one(ChainPoll("m", threshold=0.3), YES, NO, YES)[1].score == "FAIL"
    assert ChainPoll("m", polls=5).info.version == "chainpoll-adherence-v1-5"
    _, verdict = judge_one(ChainPoll("m"), YES, "It is fine.", YES)
    assert (verdict.score, verdict.error.code) == (None, "unparsed")
    _, verdict = judge_one(ChainPoll("m"), NO, {"explanation": "x"}, YES)
    assert (verdict.score, verdict.error.code) == (None, "unparsed")
    _, verdict = judge_one(ChainPoll("m"), NO, ChatReply("{", "length"), NO)
    assert (verdict.score, verdict.raw_score) == ("FAIL", 0.6667)
    assert verdict.reasoning[1].startswith("UNSCORED: the reply was cut")


def test_a_plain_boolean():
    for supported, score, raw_score in ((True, "PASS", 0.0), (False, "FAIL", 1.0)):
        _, verdict = judge_one(PlainPrompt("m"), {"supported": supported})
        assert (verdict.score, verdict.raw_score, verdict.usage.calls) == (score, raw_score, 1)
    _, verdict = judge_one(PlainPrompt("m"), {"supported": "true"})
    assert (verdict.score, verdict.error.code) == (None, "unparsed")


def word(text, *top):
    return ChatReply(text, "stop", tokens=(ReplyToken(text, 0.0, top),))


@pytest.mark.parametrize(
    ("reply", "raw_score"),
    [
        ("true", 0.0),
        (" False.\n", 1.0),
        (word("true", ("true", math.log(0.6)), ("false", math.log(0.2)), ("x", -9.0)), 0.25),
        (word("false", (" F", math.log(0.3)), ("tr", math.log(0.1)), ("", -0.1)), 0.75),
        (word("false", ("false", math.log(0.3)), ("truest", -0.2), ("true", math.log(0.1))), 0.75),
        (word("true", ("x", -0.1)), 0.0),
    ],
)
def test_a_single_word_is_weighed_against_the_other(reply, raw_score):
    backend, verdict = judge_one(PlainPrompt("m", form="token"), reply)
    assert verdict.raw_score == raw_score
    assert verdict.score == ("FAIL" if raw_score >= 0.5 else "PASS")
    assert backend.requests[0].logprobs


@pytest.mark.parametrize("text", ["", "yes", "true or false", "The answer is true", "untrue"])
def test_other_words_are_no_verdict(text):
    _, verdict = judge_one(PlainPrompt("m", form="token"), text)
    assert (verdict.score, verdict.error.code) == (None, "unparsed")
