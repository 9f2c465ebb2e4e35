import asyncio
import threading

import pytest

from moonlynx.judge.backends.base import ChatReply, ChatRequest
from moonlynx.judge.contract.base import AsyncJudge, Judge
from moonlynx.judge.contract.types import Example, JudgeInfo, Turn, Usage, Verdict
from moonlynx.judge.judges.talk import PromptedJudge, ask, together

from .prompted.scripted import CLAIMLESS


def request(text):
    return ChatRequest((Turn(role="user", content=text),))


class Rounds:
    info = JudgeInfo(name="rounds", version="1")

    def talk(self, example):
        replies = []
        for word in example.answer.split():
            reply = yield from ask(request(word))
            replies.append(reply.text)
        return Verdict(id=example.id, score="PASS", reasoning=replies, judge=self.info)


class Echo:
    name = "echo"

    def __init__(self):
        self.batches = []
        self.threads = []

    def complete(self, requests):
        self.batches.append([request.messages[-1].content for request in requests])
        self.threads.append(threading.current_thread())
        return [ChatReply(text.upper(), "stop", 2, 3) for text in self.batches[-1]]


EXAMPLES = [Example(id=n, context="x", answer=" ".join("abc"[:n])) for n in (3, 1, 2)]


def test_rounds_are_asked_together_and_answered_apart():
    backend = Echo()
    judge = PromptedJudge(backend, Rounds())
    verdicts = judge([*EXAMPLES, CLAIMLESS])
    assert backend.batches == [["a", "a", "a"], ["b", "b"], ["c"]]
    assert [v.reasoning for v in verdicts[:3]] == [("A", "B", "C"), ("A",), ("A", "B")]
    assert [v.usage.calls for v in verdicts] == [3, 1, 2, 0]
    assert verdicts[0].usage == Usage(calls=3, input_tokens=6, output_tokens=9)


def test_the_async_twin_says_the_same_beside_the_loop():
    backend = Echo()
    judge = PromptedJudge(backend, Rounds())
    assert isinstance(judge, Judge)
    assert isinstance(judge, AsyncJudge)
    assert asyncio.run(judge.acall(EXAMPLES)) == judge(EXAMPLES)
    assert threading.main_thread() not in backend.threads[:3]
    assert asyncio.run(judge.acall([])) == []


def test_talks_within_talks():
    def twice(text):
        first = yield from ask(request(text))
        second = yield from ask(request(first))
        return second

    def both():
        return (yield from together([twice("a"), twice("b"), together([])]))

    talk = both()
    assert next(talk) == [request("a"), request("b")]
    assert talk.send(["c", "d"]) == [request("c"), request("d")]
    with pytest.raises(StopIteration) as end:
        talk.send(["e", "f"])
    assert end.value.value == ["e", "f", []]
