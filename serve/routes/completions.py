"""`POST /v1/chat/completions` and `GET /v1/models`: any judge as a chat model that answers as Lynx.

The answer's text is `{"REASONING": [...], "SCORE": "PASS" | "FAIL"}`. What could not be scored is
answered with 422 and the verdict's error, streamed or not.
"""

# FastAPI reads the annotations of routes, whose types are imported with them: so none is deferred.

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..http.errors import responses, strict_router
from ..service import Service, verdict_id
from .messages import ChatRequest, chunks, completion, read_example

if TYPE_CHECKING:
    from fastapi import APIRouter


def routes(service: Service) -> "APIRouter":
    """Return the routes."""
    from fastapi import HTTPException, Request, Response
    from fastapi.responses import JSONResponse, StreamingResponse

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
        verdict = await service.judge(request, read_example(chat))
        name = verdict_id(request)
        if not chat.stream:
            return JSONResponse(completion(model, verdict, name))
        with_usage = chat.stream_options is not None and chat.stream_options.include_usage
        events = _as_events(chunks(model, verdict, name, with_usage=with_usage))
        return StreamingResponse(events, media_type="text/event-stream")

    return router


def _as_events(texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        yield f"data: {text}\n\n"
