"""Chat models behind an OpenAI-compatible endpoint: vLLM first, and compatible servers."""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from ..contract.types import JudgeError
from .base import ChatReply, ChatRequest, Finish, ReplyToken
from .endpoint import OPTIONS, Endpoint, Failure, wait_for
from .options import read_options
from .replies import TOP, aligned, faulty, reply_token

_FINISH: dict[str | None, Finish] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "refused",
}
_NO_LOGPROBS = re.compile(r"HTTP 4\d\d: .*logprobs", re.DOTALL)


class OpenAIBackend:
    """Completes chats at an endpoint, as many at once as the endpoint's `concurrency` allows.

    Greedy replies can differ in their last bits with what else the server is computing; vLLM, on
    the GPUs that it supports it for, rules that out when started with VLLM_BATCH_INVARIANT=1.
    """

    def __init__(self, endpoint: Endpoint, model: str, name: str) -> None:
        """Set endpoint, the model's name there and the backend's own; nothing is sent yet."""
        self.name = name
        self._endpoint = endpoint
        self._model = model
        self._gives_logprobs = True  # until it refuses a request for them

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Complete the requests; within a running event loop, in a thread of its own."""
        return wait_for(self.acomplete(requests))

    async def acomplete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Complete the requests without blocking the event loop.

        Where the endpoint refuses logprobs, the requests go without, now and from then on.
        """
        asked = [self._gives_logprobs and request.logprobs for request in requests]
        answers = await self._post(requests)
        refused = [
            index
            for index, answer in enumerate(answers)
            if asked[index] and _refuses_logprobs(answer)
        ]
        if refused:
            again = await self._post(
                [replace(requests[index], logprobs=False) for index in refused]
            )
            for index, answer in zip(refused, again, strict=True):
                answers[index] = answer
            # A server may quote what was judged in a complaint about something else.
            self._gives_logprobs &= all(isinstance(answer, JudgeError) for answer in again)
        return [
            _no_reply(answer) if isinstance(answer, JudgeError) else answer for answer in answers
        ]

    async def _post(self, requests: Sequence[ChatRequest]) -> list[ChatReply | JudgeError]:
        if not self._gives_logprobs:
            requests = [replace(request, logprobs=False) for request in requests]
        return await self._endpoint.post_all(
            "/chat/completions",
            [{"model": self._model} | payload_of(request) for request in requests],
            lambda response: read_completion(response.content),
        )


def load(url: str, model: str | None, options: Mapping[str, str]) -> OpenAIBackend:
    """Connect to an endpoint; if no model is named, it must serve exactly one."""
    endpoint = Endpoint(url, **read_options(url, options, OPTIONS))
    model = model or endpoint.only_model()
    return OpenAIBackend(endpoint, model, f"{model}@{url}")


class _Candidate(BaseModel):
    token: str
    logprob: float
    utf8: list[Annotated[int, Field(ge=0, le=255)]] | None = Field(default=None, alias="bytes")


class _Token(_Candidate):
    top_logprobs: list[_Candidate] | None = None


class _Logprobs(BaseModel):
    content: list[_Token]


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None
    logprobs: Any = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


def payload_of(request: ChatRequest) -> dict[str, Any]:
    """Return the request as OpenAI's API has it, without a model's name."""
    payload: dict[str, Any] = {
        "messages": [{"role": turn.role, "content": turn.content} for turn in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
    }
    if request.seed is not None:
        payload["seed"] = request.seed
    if request.schema is not None:
        json_schema = {"name": "reply", "strict": True, "schema": request.schema}
        payload["response_format"] = {"type": "json_schema", "json_schema": json_schema}
    if request.logprobs:
        payload |= {"logprobs": True, "top_logprobs": TOP}
    return payload


def read_completion(answer: bytes | dict[str, Any]) -> ChatReply:
    """Read a reply from a chat completion, in JSON or as read from it.

    Raises:
        Failure: there is none.
    """
    try:
        if isinstance(answer, bytes):
            completion = _Completion.model_validate_json(answer)
        else:
            completion = _Completion.model_validate(answer)
    except ValidationError:
        text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
        raise Failure("backend", f"the answer is no chat completion: {text}") from None
    choice, usage = completion.choices[0], completion.usage or _Usage()
    finish = "refused" if choice.message.refusal else _FINISH.get(choice.finish_reason)
    if finish is None:
        raise Failure("backend", f"the reply ended for the reason {choice.finish_reason!r}")
    text = choice.message.refusal or choice.message.content or ""
    return ChatReply(
        text=text,
        finish=finish,
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        tokens=_tokens(choice.logprobs, text),
    )


def _refuses_logprobs(answer: ChatReply | JudgeError) -> bool:
    """Return whether a request was refused for its logprobs, which not every server knows."""
    return isinstance(answer, JudgeError) and bool(_NO_LOGPROBS.match(answer.message))


def _no_reply(error: JudgeError) -> ChatReply:
    return ChatReply(text="", finish="refused") if error.code == "refused" else faulty(error)


def _tokens(logprobs: Any, text: str) -> tuple[ReplyToken, ...] | None:
    """Read the reply's tokens; None where none were asked for, or the server sends none."""
    try:
        content = _Logprobs.model_validate(logprobs).content
    except ValidationError:
        return None
    return aligned(list(_read_tokens(content)), text)


def _read_tokens(content: list[_Token]) -> Iterator[ReplyToken]:
    # A token may hold part of a character: its bytes, joined with the next token's, make the text.
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for token in content:
        text = token.token if token.utf8 is None else decoder.decode(bytes(token.utf8))
        others = [
            (candidate.token, candidate.logprob)
            for candidate in token.top_logprobs or ()
            if (candidate.token, candidate.utf8) != (token.token, token.utf8)
        ]
        yield reply_token(text, token.logprob, others)
