"""A file of answers, judged in the request that uploads it; its verdicts are in the response.

Nothing is stored, so there is no path to name and no other client's file to ask for.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from moonlynx.judge.contract.types import BadInput

from ..service import Service
from .answers import judge_file
from .front import FILES

if TYPE_CHECKING:
    from fastapi import APIRouter


def routes(services: Mapping[str, Service]) -> "APIRouter":
    """Return the route that judges a file of JSON Lines.

    Each line of the response is an object: `html` to show, and new `verdicts` as JSON Lines.
    """
    from fastapi import APIRouter, Request
    from fastapi.responses import StreamingResponse

    router = APIRouter()

    @router.post(FILES)
    async def judge_sent(request: Request, judge: str = "") -> StreamingResponse:
        if judge not in services:
            raise BadInput("bad_input", "judge", f"choose one of {', '.join(services)}")
        lines = (await request.body()).split(b"\n")
        return StreamingResponse(_steps(services[judge], lines), media_type="application/jsonl")

    return router


async def _steps(service: Service, lines: list[bytes]) -> AsyncIterator[str]:
    async for html, verdicts in judge_file(service, lines):
        yield json.dumps({"html": html, "verdicts": verdicts.decode()}) + "\n"
