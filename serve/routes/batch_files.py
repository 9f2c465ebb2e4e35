"""`/v1/batches`: files of Examples, JSON Lines: upload one, fetch its verdicts, list, delete."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import StreamingResponse

from ..http.errors import responses
from ..queue.jobs import Jobs
from ..wire import Job, JobPage

PATH = "/v1/batches"
_LINES = "application/jsonl"
KINDS = (_LINES, "application/x-ndjson", "application/octet-stream")
_PART = 1 << 16  # bytes of an output that are sent at once


def routes(jobs: Jobs) -> APIRouter:
    """Return the routes."""
    router = APIRouter()
    file = {"schema": {"type": "string", "format": "binary", "description": "An Example a line."}}
    upload: dict[str, Any] = {"required": True, "content": dict.fromkeys(KINDS, file)}

    def find(job_id: str) -> Job:
        if (job := jobs.find(job_id)) is None:
            raise HTTPException(404, f"there is no batch {job_id!r}")
        return job

    @router.post(
        PATH,
        status_code=202,
        responses=responses(422),
        openapi_extra={"requestBody": upload},
        summary="Hand in a file",
    )
    async def add(request: Request) -> Job:
        return await jobs.add(request.stream())

    @router.get(PATH, responses=responses(422), summary="All files, the newest first")
    async def page(
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        after: Annotated[str | None, Query(description="`next` of the page before.")] = None,
    ) -> JobPage:
        return jobs.page(limit, after)

    @router.get(f"{PATH}/{{job_id}}", responses=responses(404, 422), summary="How far it came")
    async def status(job_id: str) -> Job:
        return find(job_id)

    @router.delete(
        f"{PATH}/{{job_id}}",
        status_code=204,
        responses=responses(404, 422),
        summary="Stop judging a file, and delete it with its verdicts",
    )
    async def delete(job_id: str) -> None:
        await jobs.delete(find(job_id))

    lines = {"content": {_LINES: {"schema": {"type": "string"}}}, "description": "Verdicts."}

    @router.get(
        f"{PATH}/{{job_id}}/output",
        response_class=StreamingResponse,
        responses={200: lines, **responses(404, 409, 422)},
        summary="A Verdict a line, in the order of the rows",
    )
    async def output(job_id: str) -> StreamingResponse:
        job = find(job_id)
        if job.status != "done":
            why = job.message or f"{job.judged} of {job.rows} rows are judged"
            raise HTTPException(409, f"batch {job_id} is {job.status}: {why}")
        # Opened here, so that it is sent whole even if it is deleted meanwhile.
        return StreamingResponse(_parts(jobs.output(job_id).open("rb")), media_type=_LINES)

    return router


def _parts(file: BinaryIO) -> Iterator[bytes]:
    with file:
        yield from iter(partial(file.read, _PART), b"")
