"""`POST /v1/chat/completions` and `GET /v1/models`: any judge as a chat model that answers as Lynx.

The last message is either Lynx's prompt (`judge.judges.lynx.build_prompt`), or an Example's fields
as a JSON object; earlier ones are ignored. The answer is `{"REASONING": [...], "SCORE": "PASS" |
"FAIL"}`; what could not be scored is answered with 422 and the verdict's error, streamed or not.
"""

import json
import re
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from moonlynx.judge.contract.types import BadInput, Example, Text, Usage, Verdict
from moonlynx.judge.judges.lynx import VERSION
from moonlynx.judge.prompts import load_prompt
from moonlynx.judge.rows.fields import AS_NAMED, FieldMap, load_json
from moonlynx.judge.rows.fields import read_example as read_row

from ..http.errors import responses, strict_router
from ..service import Service, verdict_id
from ..wire import COMPLETION

_FIELD = re.compile(r"\{\{(\w+)\}\}")


class _Lenient(BaseModel):
    """What a client sends beyond these fields (temperature, ...) has no bearing on a verdict."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Part(_Lenient):
    """A part of a message; only text can be judged."""

    type: str = "text"
    text: Text | None = None


class Message(_Lenient):
    """One message of a chat."""

    role: str
    content: Text | list[Part] | None = None


class StreamOptions(_Lenient):
    """What a streamed completion brings beside the text."""

    include_usage: StrictBool = False


class ChatRequest(_Lenient):
    """The fields of OpenAI's chat completions that have a bearing here."""

    model: Text = Field(description="As /v1/models names it.")
    messages: list[Message] = Field(min_length=1)
    stream: StrictBool | None = False
    stream_options: StreamOptions | None = None
    n: StrictInt | None = Field(default=None, ge=1, le=1)


def routes(service: Service) -> APIRouter:
    """Return the routes."""
    router = strict_router()
    model = service.info.name
    card = {"id": model, "object": "model", "created": 0, "owned_by": "moonlynx"}

    @router.get("/v1/models", summary="The one judge that is served")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [card]}

    @router.get("/v1/models/{name:path}", responses=responses(404, 422), summary="One judge")
    async def one_model(name: str) -> dict[str, Any]:
        if name != model:
            raise HTTPException(404, f"model: only {model!r} is served")
        return card

    @router.post(
        "/v1/chat/completions",
        responses=responses(404, 422, 429, 504),
        summary="Judge as a chat model",
    )
    async def complete(request: Request, chat: ChatRequest) -> Response:
        if chat.model != model:
            raise HTTPException(404, f"model: only {model!r} is served")
        verdict = await service.judge(request, read_example(chat, service.settings.fields))
        name = verdict_id(request)
        if not chat.stream:
            return JSONResponse(completion(model, verdict, name))
        with_usage = chat.stream_options is not None and chat.stream_options.include_usage
        events = chunks(model, verdict, name, with_usage=with_usage)
        lines = (f"data: {event}\n\n" for event in events)
        return StreamingResponse(lines, media_type="text/event-stream")

    return router


def read_example(chat: ChatRequest, fields: FieldMap = AS_NAMED) -> Example:
    """Return the example that the last message asks about.

    Raises:
        BadInput: it is no user's message, or neither of the two forms.
    """
    text = last_text(chat.messages)
    try:
        row = load_json(text)
    except BadInput:
        raise
    except (ValueError, RecursionError):
        row = None
    if isinstance(row, dict):
        return read_row(row, fields)
    return _read_prompt(text, f"messages.{len(chat.messages) - 1}.content")


def last_text(messages: Sequence[Message]) -> str:
    """Return the text of the last message."""
    last, field = messages[-1], f"messages.{len(messages) - 1}"
    if last.role != "user":
        raise BadInput("bad_input", f"{field}.role", "the last message must be the user's")
    if not isinstance(last.content, list):
        return last.content or ""
    texts = [part.text for part in last.content if part.text is not None]
    if len(texts) < len(last.content):
        raise BadInput("bad_input", f"{field}.content", "has a part that is not text")
    return "".join(texts)


@cache
def _marks() -> dict[str, re.Pattern[str]]:
    """Return the text before each field of Lynx's prompt, and after the last one ("")."""
    pieces = _FIELD.split(load_prompt(VERSION))
    names = [*pieces[1::2], ""]
    # White space at a line's end or between lines is often changed on the way.
    return {
        name: re.compile(r"\s+".join(map(re.escape, piece.split())))
        for name, piece in zip(names, pieces[::2], strict=True)
    }


def _read_prompt(text: str, field: str) -> Example:
    """Parse Lynx's prompt. A text that holds one of its marks could be cut elsewhere too."""
    cuts = []
    for name, mark in _marks().items():
        found = list(mark.finditer(text))
        if len(found) != 1:
            what = "is neither Lynx's prompt nor" if not found else "can be read in two ways; send"
            message = f'{what} a JSON object {{"question": …, "context": …, "answer": …}}'
            raise BadInput("bad_input", field, message)
        cuts.append((name, found[0].start(), found[0].end()))
    row = {name: text[end:start].strip() for (name, _, end), (_, start, _) in pairwise(cuts)}
    return Example.from_row(row)


def completion(model: str, verdict: Verdict, verdict_id: str) -> dict[str, Any]:
    """Return OpenAI's completion, whose text is Lynx's JSON and whose id names the verdict."""
    message = {"role": "assistant", "content": _content(verdict), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return _head("chat.completion", model, verdict_id) | {
        "choices": [choice],
        "usage": _usage(verdict.usage),
    }


def chunks(model: str, verdict: Verdict, verdict_id: str, *, with_usage: bool) -> Iterator[str]:
    """Yield the data of the events of a streamed completion."""
    content = _content(verdict)
    head = _head("chat.completion.chunk", model, verdict_id)
    if with_usage:
        head["usage"] = None

    def chunk(delta: dict[str, str], finish: str | None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return json.dumps(head | {"choices": [choice]}, ensure_ascii=False)

    def events() -> Iterator[str]:
        yield chunk({"role": "assistant", "content": ""}, None)
        yield chunk({"content": content}, None)
        yield chunk({}, "stop")
        if with_usage:
            yield json.dumps(head | {"choices": [], "usage": _usage(verdict.usage)})
        yield "[DONE]"

    return events()


def _content(verdict: Verdict) -> str:
    return json.dumps(verdict.to_lynx(), ensure_ascii=False)


def _head(kind: str, model: str, verdict_id: str) -> dict[str, Any]:
    created = int(time.time())
    return {"id": COMPLETION + verdict_id, "object": kind, "created": created, "model": model}


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
