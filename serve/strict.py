"""Routes whose JSON is read as the rows of files are: a repeated key is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moonlynx.judge.rows.fields import load_json

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from fastapi import APIRouter


def strict_router() -> APIRouter:
    """Return a router for such routes; `errors` answers what `load_json` raises."""
    from fastapi import APIRouter, Request, Response
    from fastapi.routing import APIRoute

    class StrictRequest(Request):
        async def json(self) -> Any:
            return load_json(await self.body())

    class StrictRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handle_strictly(request: Request) -> Response:
                return await handle(StrictRequest(request.scope, request.receive))

            return handle_strictly

    return APIRouter(route_class=StrictRoute)
