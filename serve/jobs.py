"""Batch files: each is a folder on disk, judged in the background and gone on with after a stop.

`FOLDER/ID/` holds `input.jsonl` as it was sent, `output.jsonl` with a Verdict a line, and
`job.json` with how far it came. Files are judged one after the other, through the same queue as
requests.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import threading
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Literal
from uuid import uuid4

from pydantic import Field

from moonlynx.judge.batch import BATCH_SIZE, Tally, judge_rows
from moonlynx.judge.files import InUse, written_whole
from moonlynx.judge.rows import describe, read_rows
from moonlynx.judge.types import BadInput, Count, Example, MoonlynxError, Record, Text, Verdict

from .batching import QueueFull
from .service import Service

_PAUSE = 0.5  # seconds before rows of a file are offered to a full queue again
_ID = re.compile(r"[0-9a-f]{32}")


class Job(Record):
    """How far a batch file came: `passed`, `hallucinated` and `unscored` add up to `judged`."""

    id: Text
    status: Literal["waiting", "running", "done", "failed"] = "waiting"
    rows: Count
    judged: Count = 0
    passed: Count = 0
    hallucinated: Count = 0
    unscored: dict[Text, Count] = Field(default_factory=dict, description="Counts by error code.")
    message: Text | None = Field(default=None, description="Why it failed.")


class _Stopped(Exception):
    """The server ends; the file is gone on with when it is started again."""


class Jobs:
    """The batch files of a server. All methods belong to its event loop."""

    def __init__(self, folder: Path, service: Service) -> None:
        """Use a folder, which is made if need be."""
        self._folder = folder
        self._service = service
        self._waiting: asyncio.Queue[str] = asyncio.Queue()
        self._stopping = threading.Event()
        folder.mkdir(parents=True, exist_ok=True)

    async def add(self, body: AsyncIterator[bytes]) -> Job:
        """Keep a file of JSON Lines and put it in line.

        Raises:
            BadInput: it holds no rows.
        """
        job_id = uuid4().hex
        folder = self._folder / job_id
        folder.mkdir()
        try:
            path = folder / "input.jsonl"
            with path.open("wb") as file:
                async for part in body:
                    file.write(part)
            rows = (await asyncio.to_thread(describe, path)).rows
            if not rows:
                raise BadInput("bad_input", "body", "holds no rows; send an Example a line")
            job = Job(id=job_id, rows=rows)
            # Written last: a folder without it is of a file that never came in.
            self._write(job)
        except BaseException:
            shutil.rmtree(folder)
            raise
        self._waiting.put_nowait(job_id)
        return job

    def find(self, job_id: str) -> Job | None:
        """Give a job as it stands; None where there is none of that id."""
        path = self._folder / job_id / "job.json"
        if not _ID.fullmatch(job_id) or not path.exists():
            return None
        return Job.model_validate_json(path.read_bytes())

    def output(self, job_id: str) -> Path:
        """Give the file of a job's verdicts."""
        return self._folder / job_id / "output.jsonl"

    async def run(self) -> None:
        """Judge files as they come in, those that an earlier run left first, until stopped."""
        left = sorted(self._folder.glob("*/job.json"), key=lambda path: path.stat().st_mtime)
        for path in left:
            if Job.model_validate_json(path.read_bytes()).status in ("waiting", "running"):
                self._waiting.put_nowait(path.parent.name)
        while not self._stopping.is_set():
            job = self.find(await self._waiting.get())
            if job is not None:
                loop = asyncio.get_running_loop()
                await asyncio.to_thread(self._judge, job, loop)

    def stop(self) -> None:
        """Let the batch under way be the last."""
        self._stopping.set()
        self._waiting.put_nowait("")  # wakes up `run`

    def _judge(self, job: Job, loop: AbstractEventLoop) -> None:
        """Judge one file, in a thread."""
        folder = self._folder / job.id

        def on_progress(tally: Tally) -> None:
            status = "done" if tally.rows == job.rows else "running"
            counts = {
                "judged": tally.rows,
                "passed": tally.passed,
                "hallucinated": tally.failed,
                "unscored": dict(tally.unscored),
            }
            self._write(job.model_copy(update={"status": status, **counts}))
            if self._stopping.is_set():
                raise _Stopped

        path = folder / "input.jsonl"
        try:
            judge_rows(
                _Queued(self._service, loop),
                read_rows(path),
                folder / "output.jsonl",
                run={"input_sha256": describe(path).sha256},
                batch_size=min(BATCH_SIZE, self._service.settings.batching.queue),
                on_progress=on_progress,
            )
        except (_Stopped, InUse):  # by another server on this folder, which tells how far it came
            return
        except Exception as error:
            # It must not keep the files behind it waiting. What a fault of ours says may be text.
            known = isinstance(error, MoonlynxError | OSError)
            failed = {"status": "failed", "message": str(error) if known else type(error).__name__}
            self._write(job.model_copy(update=failed))

    def _write(self, job: Job) -> None:
        with written_whole(self._folder / job.id / "job.json") as draft:
            draft.write_text(job.model_dump_json(), encoding="utf-8")


class _Queued:
    """The server's judge as seen from a thread: through the queue, waiting where it is full."""

    def __init__(self, service: Service, loop: AbstractEventLoop) -> None:
        self.info = service.info
        self._service = service
        self._loop = loop

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        return asyncio.run_coroutine_threadsafe(self._judge(examples), self._loop).result()

    async def _judge(self, examples: Sequence[Example]) -> list[Verdict]:
        while True:
            try:
                futures = self._service.submit(examples)
            except QueueFull:
                await asyncio.sleep(_PAUSE)
            else:
                return await asyncio.gather(*futures)
