"""What the page asks of the server's judges, through the same queues as the API."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from moonlynx.judge.base import unscored
from moonlynx.judge.batch import BATCH_SIZE, batches, to_line
from moonlynx.judge.rows import Row, describe, read_rows
from moonlynx.judge.types import BadInput, Example, MoonlynxError, Verdict

from ..batching import QueueFull
from ..service import Service
from .overview import Overview
from .verdict import render_error, render_verdict

SEPARATOR = "---"  # a line of it parts two documents
_LINE = re.compile(r"^[ \t]*-{3,}[ \t]*$", re.MULTILINE)
_PAUSE = 0.5  # seconds before rows are offered to a full queue again


def split_documents(text: str) -> list[str]:
    """Part what was pasted at lines of three dashes or more; blank documents are left out."""
    return [part.strip("\r\n") for part in _LINE.split(text) if part.strip()]


async def judge_answer(
    services: Mapping[str, Service],
    names: Sequence[str],
    question: str,
    documents: str,
    answer: str,
) -> str:
    """Judge one answer by one judge or more; give what is shown side by side, errors included."""
    most = max(services[name].settings.max_body for name in names)
    size = sum(len(text.encode(errors="surrogatepass")) for text in (question, documents, answer))
    if size > most:
        return render_error(f"the texts hold {size:,} bytes, but may hold {most:,}; shorten them")
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
            (verdict,) = await asyncio.gather(*service.submit([example]))
    except QueueFull as error:
        return render_error(f"{name}: {error}")
    except TimeoutError:
        return render_error(f"{name}: no verdict within {seconds:g} seconds")
    return render_verdict(verdict, example, 1000 * (time.perf_counter() - started))


async def judge_file(service: Service, path: Path) -> AsyncIterator[tuple[str, Path | None]]:
    """Judge a file row by row; give what is shown meanwhile, and the file of verdicts at the end.

    That file is there until the next step is asked for.
    """
    try:
        rows = (await asyncio.to_thread(describe, path)).rows
        if not rows:
            raise BadInput("bad_input", "the file", "holds no rows; give it an Example a line")
        overview = Overview(rows)
        with TemporaryDirectory() as folder:
            output = Path(folder) / "verdicts.jsonl"
            with output.open("wb") as file:
                yield overview.render(), None
                size = min(BATCH_SIZE, service.settings.batching.queue)
                for batch in batches(read_rows(path), size):
                    for row, verdict in zip(batch, await _judge_rows(service, batch), strict=True):
                        overview.add(row, verdict)
                        file.write(to_line(verdict))
                    if overview.tally.rows < rows:
                        yield overview.render(), None
            yield overview.render(), output
    except MoonlynxError as error:
        yield render_error(str(error)), None


async def _judge_rows(service: Service, rows: Sequence[Row]) -> list[Verdict]:
    """Judge the rows that can be judged; the others become unscored verdicts in their places."""
    examples = [row.example for row in rows if isinstance(row.example, Example)]
    judged = iter(await _submit(service, examples))
    return [
        unscored(service.info, row.id, row.example.code, str(row.example))
        if isinstance(row.example, BadInput)
        else next(judged)
        for row in rows
    ]


async def _submit(service: Service, examples: Sequence[Example]) -> list[Verdict]:
    """Judge examples, waiting where the queue is full: a file can wait, unlike a person."""
    while True:
        try:
            return await asyncio.gather(*service.submit(examples))
        except QueueFull:
            await asyncio.sleep(_PAUSE)
