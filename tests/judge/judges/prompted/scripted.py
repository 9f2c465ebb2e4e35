"""A chat model that replies by what it is asked, and keeps what it was asked."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from moonlynx.judge.backends.base import ChatBackend, ChatReply, ChatRequest
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.types import Example, Verdict
from moonlynx.judge.judges.talk import PromptedJudge

EXAMPLE = Example(
    id=3,
    question="Tell me of the bridge.",
    context=("The bridge was built in 1894.", "It is ninety metres long."),
    answer="Sure! It was built in 1894. It is made of tin.",
)
CLAIMLESS = Example(context="x", answer="Hello! How can I help you?")


class Scripted(FakeBackend):
    """Replies with the JSON of what `reply` gives for a request; text and replies as they are."""

    def __init__(self, reply: Callable[[ChatRequest], Any] | Sequence[Any]) -> None:
        self.requests: list[ChatRequest] = []
        rest = iter(()) if callable(reply) else iter(reply)

        def say(request: ChatRequest) -> ChatReply | str:
            self.requests.append(request)
            said = reply(request) if callable(reply) else next(rest)
            return said if isinstance(said, str | ChatReply) else json.dumps(said)

        super().__init__(say)


class Recorder:
    name = "recorder"

    def __init__(self, backend: ChatBackend) -> None:
        self._backend = backend
        self.replies: list[ChatReply] = []

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        self.replies += (replies := self._backend.complete(requests))
        return replies


def judged(method: Any, replies: Any, example: Example = EXAMPLE) -> tuple[Scripted, Verdict]:
    backend = Scripted(replies)
    (verdict,) = PromptedJudge(backend, method)([example])
    return backend, verdict


def section(request: ChatRequest, heading: str) -> str:
    prompt = request.messages[-1].content
    mark = re.search(r"a line that starts with (=+)\.", prompt)[1]
    return re.search(rf"^{mark} {heading}\n(.*?)\n?^{mark} ", prompt, re.DOTALL | re.MULTILINE)[1]


def comply(schema: Any, flag: bool = True, text: str = "What?") -> Any:
    """Return a value that obeys the schema; text where there is none."""
    if schema is None:
        return "true"
    if "enum" in schema:
        return schema["enum"][0 if flag else 1]
    if schema["type"] == "object":
        return {key: comply(value, flag, text) for key, value in schema["properties"].items()}
    if schema["type"] == "array":
        return [comply(schema["items"], flag, text)]
    return {
        "number": 0.0 if flag else 1.0,
        "boolean": flag,
        "string": text,
        "integer": 10 if flag else 1,
    }[schema["type"]]
