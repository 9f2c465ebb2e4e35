"""`POST /v1/guarded/chat/completions`: a chat endpoint whose answers pass the guard.

A chat completion with `documents` (and `halt_at`) is forwarded; of what comes back, a sentence is
sent once it is judged, with its `GuardEvent` in the field `moonlynx`. At the first confident
hallucination the answer ends with the finish reason `content_filter`. A sentence that could not be
scored is sent: its event says so. With `on_fail` the answer is corrected instead, once it is whole.
"""

import json
from collections.abc import AsyncIterator
from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt
from starlette.exceptions import HTTPException

from moonlynx.judge.contract.types import Probability

from ..growing import GrowingAnswer, GuardEvent, WrittenDocuments
from ..http.errors import responses
from ..queue.batching import QueueFull
from ..service import Service
from .completions import Message, last_text
from .guard import guard_events
from .on_fail import OnFail, corrected
from .upstream import Chunk, Upstream, join


class GuardedMessage(Message):
    """A message whose other fields are the chat endpoint's."""

    model_config = ConfigDict(extra="allow")


class GuardedChat(BaseModel):
    """A chat completion with documents; all other fields are the chat endpoint's."""

    model_config = ConfigDict(extra="allow", frozen=True)

    messages: list[GuardedMessage] = Field(min_length=1)
    documents: WrittenDocuments
    halt_at: Probability = 0.5
    on_fail: OnFail = "block"
    retries: StrictInt = Field(
        default=2, ge=1, le=5, description="With `retry`: times asked again."
    )
    stream: StrictBool | None = False
    n: StrictInt | None = Field(default=None, ge=1, le=1)

    def growing(self) -> GrowingAnswer:
        """Return the answer to the last message, which is still empty."""
        question = last_text(self.messages)
        return GrowingAnswer(
            question=question, context=self.documents, answer="", halt_at=self.halt_at
        )

    def asked(self) -> Chunk:
        """Return the body to send to the chat endpoint."""
        own = {"documents", "halt_at", "on_fail", "retries"}
        return self.model_dump(mode="json", exclude=own, exclude_unset=True) | {"stream": True}


def routes(service: Service, upstream: Upstream) -> APIRouter:
    """Return the route."""
    router = APIRouter()

    @router.post(
        "/v1/guarded/chat/completions",
        responses=responses(422, 429, 502, 504),
        summary="A chat endpoint behind the guard",
    )
    async def complete(request: Request, chat: GuardedChat) -> Response:
        await service.check(chat.growing())
        asked, growing = chat.asked(), chat.growing()
        if chat.on_fail == "block":
            chunks = _guarded(service, request, growing, upstream.stream(asked))
        else:
            retries = chat.retries if chat.on_fail == "retry" else 0
            judge = partial(service.judge_all, request)
            marking = chat.on_fail == "annotate"
            chunks = corrected(judge, upstream, asked, growing, retries, marking=marking)
        if not chat.stream:
            return JSONResponse(await join(chunks))
        # Awaited first, so that what the endpoint refuses is answered with a status.
        first = await anext(chunks, None)
        if first is None:
            raise HTTPException(502, "the chat endpoint returned an empty answer")
        return StreamingResponse(_as_events(first, chunks), media_type="text/event-stream")

    return router


async def _guarded(
    service: Service, request: Request, growing: GrowingAnswer, chunks: AsyncIterator[Chunk]
) -> AsyncIterator[Chunk]:
    """Yield chunks, the answer's text in whole sentences that were judged."""
    given = 0
    async for chunk in chunks:
        choice = next(iter(chunk.get("choices") or ()), None)
        if choice is None:  # usage
            yield chunk
            continue
        rest = dict(choice.get("delta") or {})
        text = rest.pop("content", None) or ""
        finish = choice.get("finish_reason")
        grown = {"answer": growing.answer + text, "final": finish is not None}
        growing = growing.model_copy(update=grown)
        if rest:
            yield _chunk(chunk, rest)
        pieces = growing.whole_sentences()
        futures = service.submit([growing.example(piece) for piece in pieces])
        async for event in guard_events(service, request, growing, pieces, futures):
            if event.error is not None:
                raise HTTPException(504, event.error.message)
            if event.verdict is None or event.end is None:
                continue
            if growing.halts(event.verdict):
                yield _chunk(chunk, {}, "content_filter", event)
                return
            yield _chunk(chunk, {"content": growing.answer[given : event.end]}, None, event)
            given = event.end
            growing = growing.model_copy(update={"judged": given})
        if finish is not None:
            # What is left has no letter or digit.
            yield _chunk(chunk, {"content": growing.answer[given:]}, finish)


def _chunk(
    like: Chunk, delta: Chunk, finish: str | None = None, event: GuardEvent | None = None
) -> Chunk:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = like | {"choices": [choice]}
    return chunk if event is None else chunk | {"moonlynx": event.model_dump(mode="json")}


async def _as_events(first: Chunk, chunks: AsyncIterator[Chunk]) -> AsyncIterator[str]:
    try:
        yield f"data: {json.dumps(first)}\n\n"
        async for chunk in chunks:
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"
    except (HTTPException, QueueFull) as error:
        # The reply has begun, so its status cannot say it any more.
        message = error.detail if isinstance(error, HTTPException) else str(error)
        yield f"data: {json.dumps({'error': {'message': message, 'code': 'guard'}})}\n\n"
