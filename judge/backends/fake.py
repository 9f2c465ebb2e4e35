"""The scripted backend: replies are written down beforehand, by a function or in a file.

It lets tests, examples and dry runs go through everything but the model. Its tokens are words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from pydantic import model_validator

from ..contract.spec import SpecError
from ..contract.types import BadInput, JudgeError, Record, Text, wrong
from ..files.journal import read_records
from .base import BackendError, ChatReply, ChatRequest, Finish, ReplyToken
from .options import read_options
from .replies import faulty

_WORD = re.compile(r"\s*\S+")

Reply = Callable[[ChatRequest], ChatReply | str]


class FakeBackend:
    """A chat backend with scripted replies.

    A reply given as text is cut after `max_tokens` words; a `ChatReply` is returned as it is.
    """

    name = "fake"

    def __init__(self, reply: Reply | Sequence[str]) -> None:
        """Set a function of the request; or texts, returned one after the other."""
        self._reply = reply if callable(reply) else _one_by_one(reply)

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Reply to each request in turn."""
        return [self._complete(request) for request in requests]

    def _complete(self, request: ChatRequest) -> ChatReply:
        reply = self._reply(request)
        return reply if isinstance(reply, ChatReply) else _reply(request, ScriptRow(text=reply))


class ScriptRow(Record):
    """One line of a script: what to reply to which prompt."""

    # text that the last user message must hold; a row without it fits every prompt
    match: Text | None = None
    text: Text = ""  # the reply
    finish: Finish = "stop"  # why the reply ended
    # the reply's tokens, joined the text; given where logprobs are asked for
    tokens: tuple[ReplyToken, ...] | None = None
    error: JudgeError | None = None  # what went wrong, with `finish` "error"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.finish == "error") != (self.error is not None):
            raise wrong('finish "error" and error go together')
        if self.tokens is not None and "".join(t.text for t in self.tokens) != self.text:
            raise wrong("the tokens joined do not give the text")
        return self


def load(model: str | None, options: Mapping[str, str]) -> FakeBackend:  # noqa: ARG001 (it has none)
    """Load the backend from `script=FILE`, JSON Lines of `ScriptRow`s.

    The first row that fits a prompt answers it, however often it is asked.

    Raises:
        SpecError: no script is named.
        BackendError: the script cannot be read; names the line.
    """
    values = read_options("fake", options, {"script": Path})
    if "script" not in values:
        raise SpecError("the fake backend needs the option script=FILE, its replies in JSON Lines")
    rows = _read_script(values["script"])

    def reply(request: ChatRequest) -> ChatReply:
        prompt = request.messages[-1].content
        for row in rows:
            if row.match is None or row.match in prompt:
                return _reply(request, row)
        return _fault(f"no row of {values['script']} fits the prompt")

    return FakeBackend(reply)


def _read_script(path: Path) -> list[ScriptRow]:
    try:
        return read_records(path, ScriptRow)
    except OSError as error:
        raise BackendError(f"cannot read the script {path}: {error}") from None
    except BadInput as error:
        raise BackendError(str(error)) from None


def _reply(request: ChatRequest, row: ScriptRow) -> ChatReply:
    """Count words as tokens where the row has none, and keep to the request's limit."""
    pieces = [token.text for token in row.tokens] if row.tokens else _WORD.findall(row.text)
    kept = pieces[: request.max_tokens]
    cut = len(kept) < len(pieces)
    return ChatReply(
        text="".join(kept) if cut else row.text,
        finish="length" if cut else row.finish,
        input_tokens=sum(len(turn.content.split()) for turn in request.messages),
        output_tokens=len(kept),
        tokens=row.tokens[: len(kept)] if row.tokens and request.logprobs else None,
        error=row.error,
    )


def _one_by_one(texts: Sequence[str]) -> Reply:
    rest = iter(texts)

    def reply(request: ChatRequest) -> ChatReply | str:  # noqa: ARG001 (whatever is asked)
        text = next(rest, None)
        return _fault("the script has run out of replies") if text is None else text

    return reply


def _fault(message: str) -> ChatReply:
    return faulty(JudgeError(code="backend", message=message))
