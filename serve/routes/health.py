"""`GET /healthz`, `/readyz` and `/metrics`: for those who run the server."""

from collections.abc import Callable

from fastapi import APIRouter, HTTPException, Response

from ..http.errors import responses
from ..service import Service


def routes(service: Service, ready: Callable[[], bool]) -> APIRouter:
    """Return the routes; `ready` says whether rows are being judged."""
    from prometheus_client import CONTENT_TYPE_LATEST

    router = APIRouter()

    @router.get("/healthz", summary="Is the process alive?")
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz", responses=responses(503), summary="Is the judge accepting rows?")
    async def readyz() -> dict[str, str]:
        if not ready():
            raise HTTPException(503, "the judge is not accepting rows")
        if (late := service.batcher.backlog()) > service.settings.timeout:
            limit = f"its deadline of {service.settings.timeout:g} seconds"
            raise HTTPException(503, f"the queue holds {late:.0f} seconds of work, beyond {limit}")
        if (fault := service.settings.fault()) is not None:
            raise HTTPException(503, fault)
        return {"status": "ready", "judge": service.info.name, "version": service.info.version}

    @router.get("/metrics", response_class=Response, summary="Counters for Prometheus")
    async def metrics() -> Response:
        return Response(service.counters.render(), media_type=CONTENT_TYPE_LATEST)

    return router
