"""Dynamic batching: rows of all requests wait in one queue and are judged together.

A batch closes when its texts fill a budget of characters, or when its oldest row has waited long
enough; what comes in while a batch is being judged makes up the next one. A verdict does not
depend on its neighbours in a batch, so batching changes no verdict.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
import traceback
from asyncio import Future
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from moonlynx.judge.base import AsyncJudge, Judge, unscored
from moonlynx.judge.types import Example, MoonlynxError, Verdict
from moonlynx.judge.visible import visible

_LONGEST_PAUSE = 60  # seconds that a client is asked to stay away at most
_NEWEST = 0.2  # weight of the newest batch in the pace
_log = logging.getLogger("moonlynx.serve")


class QueueFull(MoonlynxError):
    """No room for the request's rows; `retry_after` is the time to wait, in whole seconds."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        super().__init__(f"{waiting} rows are waiting; try again in {retry_after} seconds")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Batching:
    """How rows are put together.

    Attributes:
        characters: of text in a batch of several rows; a longer row goes alone.
        wait: seconds that a row waits for others while no batch is under way.
        parallel: batches under way at once; above 1 for judges that wait on a network.
        queue: rows that may wait.
    """

    characters: int = 32_000
    wait: float = 0.003
    parallel: int = 1
    queue: int = 1_024


class _Waiting(NamedTuple):
    example: Example
    characters: int
    since: float


class Batcher:
    """The queue before a judge. All methods belong to one event loop."""

    def __init__(
        self,
        judge: Judge,
        batching: Batching,
        on_batch: Callable[[int, float], None] = lambda _rows, _seconds: None,
    ) -> None:
        """Set up; nothing is judged before `run`.

        Args:
            judge: called in a thread, or in the event loop where it has an async twin.
            batching: how rows are put together.
            on_batch: told the rows of every batch judged and the seconds it took.
        """
        self._judge = judge
        self._batching = batching
        self._on_batch = on_batch
        self._queue: OrderedDict[Future[Verdict], _Waiting] = OrderedDict()
        self._characters = 0
        self._grown = asyncio.Event()
        self._pace = 0.0  # seconds per row

    @property
    def waiting(self) -> int:
        """Rows in the queue."""
        return len(self._queue)

    def submit(self, examples: Sequence[Example]) -> list[Future[Verdict]]:
        """Queue the rows of one request, all or none; a row whose future is cancelled is dropped.

        Raises:
            QueueFull: there is no room for all of them now.
        """
        if len(self._queue) + len(examples) > self._batching.queue:
            rest = self._pace * len(self._queue) / self._batching.parallel
            raise QueueFull(len(self._queue), min(_LONGEST_PAUSE, max(1, math.ceil(rest))))
        loop = asyncio.get_running_loop()
        futures = []
        for example in examples:
            future: Future[Verdict] = loop.create_future()
            size = len(example.question) + sum(map(len, example.context)) + len(example.answer)
            self._queue[future] = _Waiting(example, size, loop.time())
            self._characters += size
            future.add_done_callback(self._remove)
            futures.append(future)
        self._grown.set()
        return futures

    async def run(self) -> None:
        """Judge what comes in, until cancelled."""
        slots = asyncio.Semaphore(self._batching.parallel)
        async with asyncio.TaskGroup() as group:
            while True:
                await slots.acquire()
                batch = await self._next_batch()
                group.create_task(self._settle(batch)).add_done_callback(lambda _: slots.release())

    async def _next_batch(self) -> list[tuple[Future[Verdict], Example]]:
        loop = asyncio.get_running_loop()
        while True:
            self._grown.clear()
            oldest = next(iter(self._queue.values()), None)
            due = math.inf if oldest is None else oldest.since + self._batching.wait
            if loop.time() >= due or self._characters >= self._batching.characters:
                if batch := self._take():
                    return batch
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout_at(None if oldest is None else due):
                    await self._grown.wait()

    def _take(self) -> list[tuple[Future[Verdict], Example]]:
        """Take rows from the queue's front up to the budget, passing over cancelled ones."""
        batch: list[tuple[Future[Verdict], Example]] = []
        room = self._batching.characters
        while self._queue:
            future, row = next(iter(self._queue.items()))
            if batch and row.characters > room and not future.done():
                break
            self._remove(future)
            if not future.done():
                batch.append((future, row.example))
                room -= row.characters
        return batch

    def _remove(self, future: Future[Verdict]) -> None:
        if (row := self._queue.pop(future, None)) is not None:
            self._characters -= row.characters

    async def _settle(self, batch: Sequence[tuple[Future[Verdict], Example]]) -> None:
        started = time.perf_counter()
        verdicts = await self._verdicts([example for _, example in batch])
        seconds = time.perf_counter() - started
        self._pace += _NEWEST * (seconds / len(batch) - self._pace)
        self._on_batch(len(batch), seconds)
        for (future, _), verdict in zip(batch, verdicts, strict=True):
            if not future.done():
                future.set_result(verdict)

    async def _verdicts(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge a batch; where that fails, each row alone: a row's fault is not its neighbours'."""
        try:
            if isinstance(self._judge, AsyncJudge):
                verdicts = await self._judge.acall(examples)
            else:
                verdicts = await asyncio.to_thread(self._judge, examples)
            if len(verdicts) == len(examples):
                return verdicts
            why = f"it gave {len(verdicts)} verdicts for {len(examples)} examples"
        except Exception as error:
            # The message of a fault of ours may hold the judged text; that of a known error not.
            why = str(error) if isinstance(error, MoonlynxError) else type(error).__name__
            shown = visible(why, lines=False)
            _log.error("%s failed: %s\n%s", self._judge.info.name, shown, _where(error))
        if len(examples) > 1:
            return [verdict for one in examples for verdict in await self._verdicts([one])]
        return [unscored(self._judge.info, examples[0].id, "backend", f"the judge failed: {why}")]


def _where(error: Exception) -> str:
    return "".join(traceback.format_tb(error.__traceback__))
