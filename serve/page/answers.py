"""What the page asks of the server's judges, by the API's queues, and a file's verdicts as HTML."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from moonlynx.judge.batch.judging import BATCH_SIZE, Tally, batches, to_line
from moonlynx.judge.contract.types import BadInput, Example, Verdict
from moonlynx.judge.rows.examples import Row, read_jsonl

from ..queue.batching import QueueFull
from ..service import Service
from .front import FILES
from .verdict import render_error, render_verdict, template

SEPARATOR = "---"  # a line of it separates two documents
_LINE = re.compile(r"^[ \t]*-{3,}[ \t]*$", re.MULTILINE)


def split_documents(text: str) -> list[str]:
    """Split pasted text at lines of three dashes or more; blank documents are left out."""
    return [part.strip("\r\n") for part in _LINE.split(text) if part.strip()]


async def judge_answer(
    services: Mapping[str, Service],
    names: Sequence[str],
    question: str,
    documents: str,
    answer: str,
) -> str:
    """Judge one answer by one judge or more; return what is shown side by side, errors included."""
    if not names:
        return render_error(f"judge: choose one of {', '.join(services)}")
    most = max(services[name].settings.max_body for name in names)
    size = sum(len(text.encode(errors="surrogatepass")) for text in (question, documents, answer))
    if size > most:
        return render_error(
            f"the texts have {size:,} bytes, over the limit of {most:,}; shorten them"
        )
    row = {"question": question, "context": split_documents(documents), "answer": answer}
    try:
        example = Example.from_row(row)
    except BadInput as error:
        return render_error(str(error))
    shown = await asyncio.gather(*(_judge_by(services[name], name, example) for name in names))
    return f'<div class="mx-results">{"".join(shown)}</div>'


async def _judge_by(service: Service, name: str, example: Example) -> str:
    seconds = service.settings.timeout
    started = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            await service.check(example)
            (verdict,) = await asyncio.gather(*service.submit([example]))
    except (QueueFull, BadInput) as error:
        return render_error(f"{name}: {error}")
    except TimeoutError:
        return render_error(f"{name}: no verdict within {seconds:g} seconds")
    shown = service.expand(example)
    return render_verdict(verdict, shown, 1000 * (time.perf_counter() - started))


def routes(services: Mapping[str, Service]) -> APIRouter:
    """Return the route that judges a file of JSON Lines in the request that uploads it.

    Each line of the response is an object: `html` to show, and new `verdicts` as JSON Lines.
    Nothing is stored, so there is no path to name and no other client's file to ask for.
    """
    router = APIRouter()

    @router.post(FILES)
    async def judge_sent(request: Request, judge: str = "") -> StreamingResponse:
        if judge not in services:
            raise BadInput("bad_input", "judge", f"choose one of {', '.join(services)}")
        steps = judge_file(services[judge], (await request.body()).split(b"\n"))
        lines = (
            json.dumps({"html": html, "verdicts": verdicts.decode()}) + "\n"
            async for html, verdicts in steps
        )
        return StreamingResponse(lines, media_type="application/jsonl")

    return router


async def judge_file(service: Service, lines: Sequence[bytes]) -> AsyncIterator[tuple[str, bytes]]:
    """Judge JSON Lines row by row; yield what is shown, and the lines of the new verdicts."""
    rows = sum(1 for line in lines if line.strip())
    if not rows:
        yield render_error("the file: holds no rows; write one JSON object a line"), b""
        return
    overview = Overview(rows)
    yield overview.render(), b""
    for batch in batches(read_jsonl(lines), min(BATCH_SIZE, service.settings.batching.queue)):
        judged = []
        for row, verdict in zip(batch, await service.judge_rows(None, batch), strict=True):
            overview.add(row, verdict)
            judged.append(to_line(verdict))
        yield overview.render(), b"".join(judged)


_BINS = 10
_SHOWN = 200  # rows of the table; the file to download holds all
_FAULTS = 20  # rows that could not be read, listed one by one


@dataclass
class Overview:
    """What is kept of a file's verdicts to show them; grows with what is shown, not the file."""

    rows: int
    tally: Tally = field(default_factory=Tally)
    bins: list[int] = field(default_factory=lambda: [0] * _BINS)
    faults: list[str] = field(default_factory=list)
    table: list[tuple[Row, Verdict]] = field(default_factory=list)

    def add(self, row: Row, verdict: Verdict) -> None:
        """Add the verdict on a row."""
        self.tally.add(verdict)
        if verdict.probability is not None:
            self.bins[min(int(_BINS * verdict.probability), _BINS - 1)] += 1
        if isinstance(row.example, BadInput) and len(self.faults) < _FAULTS:
            self.faults.append(str(row.example))
        if len(self.table) < _SHOWN:
            self.table.append((row, verdict))

    def render(self) -> str:
        """Return the progress, and once the last row is judged all that was found."""
        return template("overview.html").render(
            tally=self.tally, rows=self.rows, bins=self.bins, faults=self.faults, table=self.table
        )
