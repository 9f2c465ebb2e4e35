"""What all routes judge by: one queue, one deadline, one set of counts."""

from __future__ import annotations

import asyncio
import time
from asyncio import Future
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.requests import Request

from moonlynx.judge.contract.base import Judge, unscored, with_documents
from moonlynx.judge.contract.types import Example, JudgeInfo, Verdict
from moonlynx.judge.rows.examples import Row
from moonlynx.judge.rows.fields import AS_NAMED, FieldMap

from .audit.recorder import AuditSettings, Recorder
from .counters import Counters
from .growing import GrowingAnswer
from .queue.batching import Batcher, Batching, QueueFull
from .queue.limits import Limits
from .tracing import Tracing

Result = TypeVar("Result")
_PAUSE = 0.5  # seconds before examples without a deadline are offered to a full queue again


@dataclass(frozen=True)
class Settings:
    """How a server behaves."""

    batching: Batching = field(default_factory=Batching)
    limits: Limits = field(default_factory=Limits)
    timeout: float = 30.0  # seconds within which a request is answered
    max_body: int = 8 << 20  # bytes of a request
    keys: tuple[bytes, ...] = ()  # SHA-256 of the API keys, in hex; none: no key is required
    origins: tuple[str, ...] = ()  # other sites whose pages may call the server
    hosts: tuple[str, ...] = ()  # names under which it may be asked, besides those of this machine
    exposed: bool = False  # to other machines, by addresses and names without a dot too
    jobs: Path | None = None  # folder of batch files; None: there are none
    upstream: str | None = None  # base URL of a chat endpoint to guard; None: there is none
    fields: FieldMap = AS_NAMED  # how rows are read
    audit: AuditSettings | None = None  # what is stored of verdicts; None: nothing
    fault: Callable[[], str | None] = lambda: None  # why the judge cannot judge at present
    over: Callable[[], bool] = lambda: False  # whether the server is shutting down


class Service:
    """A judge behind a queue. All methods belong to one event loop."""

    def __init__(self, judge: Judge, settings: Settings, tracing: Tracing | None = None) -> None:
        """Set up; nothing is judged before `batcher.run`."""
        self.info: JudgeInfo = judge.info
        self.settings = settings
        self.expand = partial(with_documents, judge)
        self._tracing = tracing
        self.counters = Counters()
        self.batcher = Batcher(judge, settings.batching, self.counters.on_batch)
        self.counters.watch(self.batcher)
        self.audit: Recorder | None = None
        if settings.audit is not None:
            self.audit = Recorder(settings.audit, self.counters.on_audit_dropped)

    async def check(self, texts: Example | GrowingAnswer) -> None:
        """Refuse what is over a limit."""
        limits = self.settings.limits
        if limits.is_quick(texts):
            limits.check(texts)
        else:
            await asyncio.to_thread(limits.check, texts)

    def submit(
        self,
        examples: Sequence[Example],
        ids: Sequence[str] | None = None,
        *,
        patient: bool = False,
    ) -> list[Future[Verdict]]:
        """Queue the examples of a request, which are within the limits.

        Raises:
            HTTPException: 413 for more rows than the queue holds.
            QueueFull: there is no room now.
        """
        most = self.settings.batching.queue
        if len(examples) > most:
            raise HTTPException(413, f"{len(examples)} rows; send at most {most} at once")
        futures = self.batcher.submit(examples, patient=patient)
        names = ids or [uuid4().hex for _ in examples]
        for future, example, name in zip(futures, examples, names, strict=True):
            future.add_done_callback(partial(self._settled, name, example, time.time_ns()))
        return futures

    async def judge(self, request: Request, example: Example) -> Verdict:
        """Judge the one example of a request; `verdict_id` then returns the id of the verdict."""
        (verdict,) = await self.judge_all(request, [example])
        return verdict

    async def judge_all(self, request: Request, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples of a request."""
        for example in examples:
            await self.check(example)
        ids = [uuid4().hex for _ in examples]
        request.state.verdict_ids = ids
        return await self.finish(request, asyncio.gather(*self.submit(examples, ids)))

    async def finish(self, request: Request, work: Future[Result]) -> Result:
        """Wait for work on a request; cancel it once its client goes away or the time is up."""
        seconds = self.settings.timeout
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            either: set[Future[Any]] = {work, gone}
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if gone.done():
                raise HTTPException(499, "the client closed the connection")
            raise HTTPException(504, f"no verdict within {seconds:g} seconds")
        finally:
            work.add_done_callback(_forget)
            work.cancel()
            gone.cancel()

    async def judge_rows(self, request: Request | None, rows: Sequence[Row]) -> list[Verdict]:
        """Judge the rows that can be judged; others become unscored verdicts in their places.

        Without a request they have no deadline, and wait where the queue is full.
        """
        rows = await asyncio.to_thread(lambda: [*map(self.settings.limits.row, rows)])
        examples = [row.example for row in rows if isinstance(row.example, Example)]
        if request is None:
            judged = iter(await self.judge_patiently(examples))
        else:
            judged = iter(await self.judge_all(request, examples))
        verdicts = []
        for row in rows:
            if isinstance(row.example, Example):
                verdicts.append(next(judged))
                continue
            bad = unscored(self.info, row.id, row.example.code, str(row.example))
            if request is not None:
                self._tell(bad, time.time_ns())
            verdicts.append(bad)
        return verdicts

    async def judge_patiently(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge examples that have no deadline, waiting where the queue is full."""
        while True:
            try:
                return await asyncio.gather(*self.submit(examples, patient=True))
            except QueueFull:
                await asyncio.sleep(_PAUSE)

    def _settled(self, name: str, example: Example, started: int, future: Future[Verdict]) -> None:
        """Count, trace and store a verdict, unless no client waits for it any more."""
        if not future.cancelled():
            self._tell(future.result(), started)
            if self.audit is not None:
                self.audit.record(name, example, future.result())

    def _tell(self, verdict: Verdict, started: int) -> None:
        self.counters.on_verdict(verdict)
        if self._tracing is not None:
            self._tracing.on_verdict(verdict, started)


def verdict_id(request: Request) -> str:
    """Return the id of the one verdict that a request got."""
    (name,) = request.state.verdict_ids
    return str(name)


def _forget(work: Future[Any]) -> None:
    """Retrieve the outcome of abandoned work, or Python would log that it was never retrieved."""
    if not work.cancelled():
        work.exception()


async def _disconnected(request: Request) -> None:
    """Return once the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
