"""`POST /v1/guard`: judges an answer while it is being written, sentence by sentence.

The client sends the answer so far and how much of it was judged before; the reply is a stream of
server-sent events (`GuardEvent`), one for each sentence that has become whole. The server keeps
nothing between two requests: any server may answer the next one, and one may be sent again.
"""

import asyncio
from asyncio import Future
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BeforeValidator
from starlette.exceptions import HTTPException

from moonlynx.judge.contract.types import JudgeError, Verdict
from moonlynx.judge.text import Piece

from ..growing import GrowingAnswer, GuardEvent, place
from ..http.errors import responses, strict_router
from ..service import Service


def routes(service: Service) -> APIRouter:
    """Return the route."""
    router = strict_router()
    absent = service.settings.fields.absent
    fill = BeforeValidator(lambda raw: {**absent, **raw} if isinstance(raw, dict) else raw)
    stream = {"model": GuardEvent, "content": {"text/event-stream": {}}, "description": "Events."}

    @router.post(
        "/v1/guard",
        response_class=StreamingResponse,
        responses={200: stream, **responses(422, 429)},
        summary="Judge a growing answer, sentence by sentence",
    )
    async def guard(request: Request, growing: Annotated[GrowingAnswer, fill]) -> StreamingResponse:
        await service.check(growing)
        pieces = await asyncio.to_thread(growing.whole_sentences)
        # All are queued before the reply begins: from then on it could not be refused.
        futures = service.submit([growing.example(piece) for piece in pieces])
        events = guard_events(service, request, growing, pieces, futures)
        return StreamingResponse(
            (f"event: {one.event}\ndata: {one.model_dump_json()}\n\n" async for one in events),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    return router


async def guard_events(
    service: Service,
    request: Request,
    growing: GrowingAnswer,
    pieces: Sequence[Piece],
    futures: Sequence["Future[Verdict]"],
) -> AsyncIterator[GuardEvent]:
    """Yield the events of sentences as their verdicts come in, up to the first that halts."""
    judged = growing.judged
    try:
        for piece, future in zip(pieces, futures, strict=True):
            where = {"start": piece.start, "end": piece.end}
            verdict = await service.finish(request, future)
            yield GuardEvent(event="sentence", verdict=place(verdict, piece.start), **where)
            if growing.halts(verdict):
                yield GuardEvent(event="halt", **where)
                return
            judged = piece.end
        yield GuardEvent(event="judged", judged=judged)
    except HTTPException as error:
        yield GuardEvent(event="error", error=JudgeError(code="timeout", message=error.detail))
    finally:
        for future in futures:
            future.cancel()
