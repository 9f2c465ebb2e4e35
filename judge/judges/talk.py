"""Talks with a chat model: what one judge asks for one answer, round by round.

A talk is a generator. It yields the requests of a round, is sent their replies, and returns what it
found. So a judge of several rounds reads from top to bottom, and the rounds of a whole batch go to
the backend together, whether that waits on a network or not.
"""

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..backends.base import ChatBackend, ChatReply, ChatRequest, acomplete, known_weights
from ..backends.replies import fault_of, usage_of
from ..contract.types import Example, JudgeError, JudgeInfo, Usage, Verdict
from ..prompts import messages
from .findings import claims, sentences_verdict

T = TypeVar("T")
Talk = Generator[list[ChatRequest], list[ChatReply], T]

ANSWER_PROMPT = "answer-v1"
_ANSWER_TOKENS = 512  # of one sampled answer


class TalkingJudge:
    """Judges by talks with a chat model, all answers of a batch side by side.

    An answer that claims nothing is PASS, and the model is not asked. The usage of a verdict counts
    every call and token that went into it.
    """

    info: JudgeInfo

    def __init__(self, backend: ChatBackend | None) -> None:
        """Set the judge up; it takes no backend where it asks nothing."""
        self._backend = backend
        self.weights = () if backend is None else known_weights(backend)

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        return converse(self._backend, [self._talk(example) for example in examples])

    async def acall(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples without blocking the event loop."""
        return await aconverse(self._backend, [self._talk(example) for example in examples])

    def talk(self, example: Example) -> Talk[Verdict]:
        """Judge an answer that claims something; the verdict's usage is filled in later."""
        raise NotImplementedError

    def silent(self, example: Example) -> Verdict:
        """Return the verdict of an answer that claims nothing."""
        return sentences_verdict(example, self.info, (), threshold=0.0)

    def _talk(self, example: Example) -> Talk[Verdict]:
        if not claims(example):
            return self.silent(example)
        verdict, usage = yield from _counted(self.talk(example))
        return verdict.model_copy(update={"usage": usage})


@dataclass(frozen=True)
class Method:
    """How one judge of a paper judges an answer."""

    model: str | None  # name of the chat model; None where none is asked
    # least raw score of an unsupported sentence, or of a hallucinated answer
    threshold: float = 0.5

    @property
    def info(self) -> JudgeInfo:
        """Return name and version, with all that changes a verdict."""
        raise NotImplementedError

    def talk(self, example: Example) -> Talk[Verdict]:
        """Judge an answer that claims something."""
        raise NotImplementedError


class PromptedJudge(TalkingJudge):
    """Judges by a method over a chat model."""

    def __init__(self, backend: ChatBackend | None, method: Method) -> None:
        super().__init__(backend)
        self.info = method.info
        self._method = method

    def talk(self, example: Example) -> Talk[Verdict]:
        """Judge an answer by the method."""
        return self._method.talk(example)


def draw_samples(
    example: Example, samples: int, *, possible: bool
) -> Talk[Sequence[str] | JudgeError]:
    """Return other answers to the question: the example's own, all of them, or drawn ones.

    Returns:
        The answers, or why there are none: one that fails leaves the example without.
    """
    if example.samples:
        texts: Sequence[str] = example.samples
    elif not possible:
        message = "samples: there are none, and no chat model is given to draw some"
        return JudgeError(code="bad_input", message=message)
    else:
        turns = messages(ANSWER_PROMPT, example)
        replies = yield [
            ChatRequest(turns, max_tokens=_ANSWER_TOKENS, temperature=1.0, seed=seed)
            for seed in range(samples)
        ]
        for number, reply in enumerate(replies, 1):
            if fault := fault_of(reply):
                return fault.model_copy(update={"message": f"sample {number}: {fault.message}"})
        texts = [reply.text for reply in replies]
    for number, text in enumerate(texts, 1):
        if not text.strip():
            code = "bad_input" if example.samples else "backend"
            return JudgeError(code=code, message=f"sample {number} holds no text")
    return texts


def ask(request: ChatRequest) -> Talk[ChatReply]:
    """Ask one thing."""
    (reply,) = yield [request]
    return reply


def converse(backend: ChatBackend | None, talks: Sequence[Talk[T]]) -> list[T]:
    """Run the talks side by side, each round as one call of the backend."""
    run = _Run(talks)
    while run.requests:
        assert backend is not None
        run.advance(backend.complete(run.requests))
    return run.result


async def aconverse(backend: ChatBackend | None, talks: Sequence[Talk[T]]) -> list[T]:
    """Run the talks side by side without blocking the event loop."""
    run = await asyncio.to_thread(_Run, talks)
    while run.requests:
        assert backend is not None
        replies = await acomplete(backend, run.requests)
        await asyncio.to_thread(run.advance, replies)
    return run.result


def together(talks: Sequence[Talk[T]]) -> Talk[list[T]]:
    """Join the talks: what they ask in one round goes out as one list."""
    asked: dict[int, list[ChatRequest]] = {}
    results: dict[int, T] = {}

    def advance(index: int, replies: list[ChatReply] | None) -> None:
        talk = talks[index]
        try:
            asked[index] = next(talk) if replies is None else talk.send(replies)
        except StopIteration as end:
            asked.pop(index, None)
            results[index] = end.value

    for index in range(len(talks)):
        advance(index, None)
    while asked:
        rest = iter((yield [request for requests in asked.values() for request in requests]))
        for index, requests in list(asked.items()):
            advance(index, [next(rest) for _ in requests])
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
        usage += usage_of(replies)


class _Run(Generic[T]):
    """Talks in progress: the requests that wait for replies, none once there is a result."""

    def __init__(self, talks: Sequence[Talk[T]]) -> None:
        self._talk = together(talks)
        self.requests: list[ChatRequest] = []
        self.result: list[T] = []
        self.advance(None)

    def advance(self, replies: list[ChatReply] | None) -> None:
        given = 0 if replies is None else len(replies)
        assert given == len(self.requests), f"{given} replies to {len(self.requests)} requests"
        try:
            self.requests = next(self._talk) if replies is None else self._talk.send(replies)
        except StopIteration as end:
            self.requests = []
            self.result = end.value
