"""Talks with a chat model: what one judge asks for one answer, round by round.

A talk is a generator. It yields the requests of a round, is sent their replies, and returns what it
found. So a judge of several rounds reads from top to bottom, and the rounds of a whole batch go to
the backend together, whether that waits on a network or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from typing import Protocol, TypeVar

from ..backends.base import ChatBackend, ChatReply, ChatRequest, acomplete
from ..contract.types import Example, JudgeInfo, Usage, Verdict
from ..decision.cost import add_usage
from ..text import claims_nothing, split_sentences
from .detectors.asking import usage_of
from .findings import Finding, to_verdict

T = TypeVar("T")
Talk = Generator[list[ChatRequest], list[ChatReply], T]


class Method(Protocol):
    """How one judge of a paper judges an answer."""

    @property
    def info(self) -> JudgeInfo:
        """Return name and version, with all that changes a verdict."""
        ...

    def talk(self, example: Example) -> Talk[Verdict]:
        """Judge an answer that claims something; the verdict's usage is filled in later."""
        ...


class PromptedJudge:
    """Judges by a method over a chat model, all answers of a batch side by side.

    An answer that claims nothing is PASS, and the model is not asked. The usage of a verdict counts
    every call and token that went into it.
    """

    def __init__(self, backend: ChatBackend | None, method: Method) -> None:
        """Set the judge up.

        Args:
            backend: completes the requests; None where the method makes none.
            method: what is asked, and what becomes of the replies.
        """
        self.info = method.info
        self._backend = backend
        self._method = method

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        run = _Run(together([self._talk(example) for example in examples]))
        run.go_on(None)
        while run.requests:
            assert self._backend is not None
            run.go_on(self._backend.complete(run.requests))
        return run.result

    async def acall(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples without blocking the event loop."""
        run = _Run(together([self._talk(example) for example in examples]))
        await asyncio.to_thread(run.go_on, None)
        while run.requests:
            assert self._backend is not None
            replies = await acomplete(self._backend, run.requests)
            await asyncio.to_thread(run.go_on, replies)
        return run.result

    def _talk(self, example: Example) -> Talk[Verdict]:
        pieces = split_sentences(example.answer)
        if all(claims_nothing(piece.text) for piece in pieces):
            nothing = [Finding(piece, None) for piece in pieces]
            return to_verdict(example, self.info, nothing, threshold=0.0)
        verdict, usage = yield from _counted(self._method.talk(example))
        return verdict.model_copy(update={"usage": usage})


def ask(request: ChatRequest) -> Talk[ChatReply]:
    """Ask one thing."""
    (reply,) = yield [request]
    return reply


def together(talks: Sequence[Talk[T]]) -> Talk[list[T]]:
    """Run the talks side by side: what they ask in one round goes out as one list."""
    asked: dict[int, list[ChatRequest]] = {}
    results: dict[int, T] = {}

    def go_on(index: int, replies: list[ChatReply] | None) -> None:
        talk = talks[index]
        try:
            asked[index] = next(talk) if replies is None else talk.send(replies)
        except StopIteration as end:
            asked.pop(index, None)
            results[index] = end.value

    for index in range(len(talks)):
        go_on(index, None)
    while asked:
        rest = iter((yield [request for requests in asked.values() for request in requests]))
        for index, requests in list(asked.items()):
            go_on(index, [next(rest) for _ in requests])
    return [results[index] for index in range(len(talks))]


def _counted(talk: Talk[T]) -> Talk[tuple[T, Usage]]:
    """Run the talk and add up what it costs."""
    usage = Usage()
    replies: list[ChatReply] | None = None
    while True:
        try:
            requests = next(talk) if replies is None else talk.send(replies)
        except StopIteration as end:
            return end.value, usage
        replies = yield requests
        usage = add_usage(usage, usage_of(replies))


class _Run:
    """A talk in progress: the requests that wait for replies, none once there is a result."""

    def __init__(self, talk: Talk[list[Verdict]]) -> None:
        self._talk = talk
        self.requests: list[ChatRequest] = []
        self.result: list[Verdict] = []

    def go_on(self, replies: list[ChatReply] | None) -> None:
        try:
            self.requests = next(self._talk) if replies is None else self._talk.send(replies)
        except StopIteration as end:
            self.requests = []
            self.result = end.value
