"""Batch files: each is a folder on disk, judged in the background and resumed after a stop.

`FOLDER/ID/` holds `input.jsonl` as it was sent, `output.jsonl` with a Verdict a line, and
`job.json` with how far it came. They are judged one after the other.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import threading
import time
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from moonlynx.judge.batch.judging import BATCH_SIZE, Tally, judge_rows
from moonlynx.judge.contract.types import BadInput, Example, MoonlynxError, Verdict
from moonlynx.judge.files.atomic import InUse, written_whole
from moonlynx.judge.rows.examples import describe, read_rows

from ..service import Service
from ..wire import Job, JobPage

_ID = re.compile(r"[0-9a-f]{32}")


class _Stopped(Exception):
    """The server stops, and resumes the file at its next start; or the file is deleted."""


class _Running(NamedTuple):
    """The file that is being judged."""

    id: str
    rows: _Queued
    judging: asyncio.Task[None]


class Jobs:
    """The batch files of a server. All methods belong to its event loop."""

    def __init__(self, folder: Path, service: Service) -> None:
        self._folder = folder
        self._service = service
        self._waiting: asyncio.Queue[str] = asyncio.Queue()
        self._stopping = threading.Event()
        self._running: _Running | None = None
        self._deleted: set[str] = set()  # whose folder may still be there
        folder.mkdir(parents=True, exist_ok=True)

    async def add(self, body: AsyncIterator[bytes]) -> Job:
        """Store a file of JSON Lines and queue it."""
        # The newest sorts last; no one can guess another's.
        job_id = f"{time.time_ns():016x}{secrets.token_hex(8)}"
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
        """Return a job's current state; None where there is none of that id."""
        if not _ID.fullmatch(job_id) or job_id in self._deleted:
            return None
        try:
            return Job.model_validate_json((self._folder / job_id / "job.json").read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None

    def page(self, limit: int, after: str | None) -> JobPage:
        """Return jobs, the newest first."""
        names = sorted((path.name for path in self._folder.iterdir()), reverse=True)
        older = (name for name in names if after is None or name < after)
        jobs = list(islice(filter(None, map(self.find, older)), limit + 1))
        rest = jobs[limit - 1].id if len(jobs) > limit else None
        return JobPage(data=tuple(jobs[:limit]), next=rest)

    async def delete(self, job: Job) -> None:
        """Stop judging a job that was found, and delete its files."""
        self._deleted.add(job.id)
        try:
            if self._running is not None and self._running.id == job.id:
                self._running.rows.cancel()
                await asyncio.wait([self._running.judging])
            with suppress(FileNotFoundError):  # another server on this folder deletes it too
                # First, so that what a kill leaves here is of no job.
                (self._folder / job.id / "job.json").unlink()
                await asyncio.to_thread(shutil.rmtree, self._folder / job.id)
        finally:
            self._deleted.discard(job.id)

    def _is_unwanted(self, job_id: str) -> bool:
        return self._stopping.is_set() or self.find(job_id) is None

    def output(self, job_id: str) -> Path:
        """Return the file of a job's verdicts."""
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
                rows = _Queued(self._service, loop, partial(self._is_unwanted, job.id))
                judging = asyncio.create_task(asyncio.to_thread(self._judge, job, rows))
                self._running = _Running(job.id, rows, judging)
                await judging

    def stop(self) -> None:
        """Stop judging the rows under way; they are judged when the file is resumed."""
        self._stopping.set()
        if self._running is not None:
            self._running.rows.cancel()
        self._waiting.put_nowait("")  # wakes up `run`

    def _judge(self, job: Job, rows: _Queued) -> None:
        """Judge one file, in a thread."""
        folder = self._folder / job.id

        def on_progress(tally: Tally) -> None:
            if rows.unwanted():
                raise _Stopped
            status = "done" if tally.rows == job.rows else "running"
            counts = {
                "judged": tally.rows,
                "passed": tally.passed,
                "hallucinated": tally.failed,
                "unscored": dict(tally.unscored),
            }
            self._write(job.model_copy(update={"status": status, **counts}))

        path = folder / "input.jsonl"
        try:
            judge_rows(
                rows,
                map(
                    self._service.settings.limits.row,
                    read_rows(path, self._service.settings.fields),
                ),
                folder / "output.jsonl",
                run={"input_sha256": describe(path).sha256},
                batch_size=min(BATCH_SIZE, self._service.settings.batching.queue),
                on_progress=on_progress,
            )
        # Deleted, left for the next start, or judged by another server on this folder, which
        # tells how far it came.
        except (_Stopped, CancelledError, InUse):
            return
        except Exception as error:
            # It must not keep the files after it waiting. An internal error may quote text.
            known = isinstance(error, MoonlynxError | OSError)
            failed = {"status": "failed", "message": str(error) if known else type(error).__name__}
            if not rows.unwanted():
                self._write(job.model_copy(update=failed))

    def _write(self, job: Job) -> None:
        with written_whole(self._folder / job.id / "job.json") as draft:
            draft.write_text(job.model_dump_json(), encoding="utf-8")


class _Queued:
    """The server's judge as a thread sees it: through the queue, waiting where it is full."""

    def __init__(
        self, service: Service, loop: AbstractEventLoop, unwanted: Callable[[], bool]
    ) -> None:
        self.info = service.info
        self.unwanted = unwanted
        self._service = service
        self._loop = loop
        self._task: asyncio.Task[list[Verdict]] | None = None

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        return asyncio.run_coroutine_threadsafe(self._judge(examples), self._loop).result()

    def cancel(self) -> None:
        """Drop the rows under way; called in the event loop, once they are unwanted."""
        if self._task is not None:
            self._task.cancel()

    async def _judge(self, examples: Sequence[Example]) -> list[Verdict]:
        self._task = asyncio.current_task()
        if self.unwanted():
            raise _Stopped
        return await self._service.judge_patiently(examples)
