"""The queue before a judge: requests take turns, a bounded piece of work at a time.

Rows are put together up to a budget of characters, and judged in the judge's steps
(`judge.contract.steps`). Each turn goes to the request that had the fewest, so that a short answer
does not wait for a long one; every fourth to the oldest, so that a long one is not starved.
"""

import asyncio
import logging
import math
import time
import traceback
from asyncio import Future
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, count

from moonlynx.judge.contract.base import Judge, unscored
from moonlynx.judge.contract.steps import Ask, Done, Step, advance, answer
from moonlynx.judge.contract.types import Example, MoonlynxError, Verdict
from moonlynx.judge.contract.visible import visible

from .turns import Asker, Batch, Row, characters, length

_LONGEST_PAUSE = 60  # seconds that a client is asked to wait at most
_NEWEST = 0.2  # weight of the newest batch in the pace
_OLDEST = 4  # every so many turns, one goes to the oldest request
_OPEN = 2_000_000  # characters under way of rows within the budget, and of longer ones
_log = logging.getLogger("moonlynx.serve")


class QueueFull(MoonlynxError):
    """No room for the request's rows; `retry_after` is the time to wait, in whole seconds."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        super().__init__(f"{waiting} rows are waiting; try again in {retry_after} seconds")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Batching:
    """How rows are put together."""

    characters: int = 32_000  # of text in a batch of several rows; a longer row goes alone
    wait: float = 0.003  # seconds that a row waits for others while no batch is under way
    parallel: int = 1  # pieces of work at once; above 1 for judges that wait on a network
    queue: int = 1_024  # rows that may wait


class Batcher:
    """The queue before a judge. All methods belong to one event loop."""

    def __init__(
        self,
        judge: Judge,
        batching: Batching,
        on_batch: Callable[[int, float], None] = lambda _rows, _seconds: None,
    ) -> None:
        """Set up; `on_batch` is called with the rows of each batch judged and its seconds."""
        self._judge = judge
        self._batching = batching
        self._on_batch = on_batch
        # By request, in the order of arrival; and how many rows and characters these are.
        self._queue: dict[Asker, dict[Future[Verdict], Row]] = {}
        self._count = self._characters = 0
        # Characters of rows within the budget, and of longer ones.
        self._under_way = {False: 0, True: 0}
        self._resting: list[Batch] = []
        self._at_work: set[Batch] = set()
        self._changed = asyncio.Event()
        self._numbers, self._turns = count(), count(1)
        self._pace = 0.0  # seconds per character of an answer

    @property
    def waiting(self) -> int:
        """Return the number of rows in the queue."""
        return self._count

    @property
    def under_way(self) -> int:
        """Return the number of rows that are being judged."""
        return sum(len(batch.pairs) for batch in (*self._resting, *self._at_work))

    def backlog(self) -> float:
        """Estimate the seconds that all rows with a deadline still take."""
        waiting = length(row for row in self._rows() if not row.asker.patient)
        under_way = (one for one in (*self._resting, *self._at_work) if not one.patient)
        return (self._pace * waiting + sum(map(self._left, under_way))) / self._batching.parallel

    def _left(self, batch: Batch) -> float:
        if not batch.share:
            return self._pace * batch.length
        return batch.seconds * (1 - batch.share) / batch.share

    def submit(
        self, examples: Sequence[Example], *, patient: bool = False
    ) -> list[Future[Verdict]]:
        """Queue the rows of one request, all or none; a row whose future is cancelled is dropped.

        Raises:
            QueueFull: there is no room for all of them now.
        """
        if self._count + len(examples) > self._batching.queue:
            rest = math.ceil(self.backlog())
            raise QueueFull(self._count, min(_LONGEST_PAUSE, max(1, rest)))
        loop = asyncio.get_running_loop()
        asker = Asker(next(self._numbers), patient)
        rows: dict[Future[Verdict], Row] = {}
        for example in examples:
            future: Future[Verdict] = loop.create_future()
            rows[future] = row = Row(example, asker, characters(example), loop.time())
            self._characters += row.characters
            future.add_done_callback(partial(self._remove, row))
        if rows:
            self._queue[asker] = rows
            self._count += len(rows)
            self._changed.set()
        return [*rows]

    async def run(self) -> None:
        """Judge what comes in, until cancelled."""
        slots = asyncio.Semaphore(self._batching.parallel)
        async with asyncio.TaskGroup() as group:
            while True:
                await slots.acquire()
                batch = await self._next()
                self._at_work.add(batch)
                group.create_task(self._turn(batch)).add_done_callback(lambda _: slots.release())

    async def _next(self) -> Batch:
        """Wait until there is work, and choose whose turn it is."""
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            self._drop_given_up()
            oldest = next((row for row in self._rows()), None)
            due = math.inf if oldest is None else oldest.since + self._batching.wait
            is_full = self._characters >= self._batching.characters
            may_open = is_full or loop.time() >= due or bool(self._resting)
            if (batch := self._choose(may_open)) is not None:
                return batch
            # Rows that are due and still wait have no room before another batch ends.
            wake = None if oldest is None or may_open else due
            with suppress(TimeoutError):
                async with asyncio.timeout_at(wake):
                    await self._changed.wait()

    def _rows(self) -> Iterator[Row]:
        return (row for rows in self._queue.values() for row in rows.values())

    def _drop_given_up(self) -> None:
        for batch in [batch for batch in self._resting if batch.given_up]:
            self._resting.remove(batch)
            self._end(batch)
            batch.work.close()

    def _choose(self, may_open: bool) -> Batch | None:
        """Take the batch, or the waiting rows, of the request that is first in line."""
        by_age = next(self._turns) % _OLDEST == 0
        waiting = self._first_waiting(by_age) if may_open else None
        batch = min(self._resting, key=lambda one: one.rank[by_age:], default=None)
        if batch is None or (waiting and waiting.rank[by_age:] < batch.rank[by_age:]):
            return self._open(waiting) if waiting else None
        self._resting.remove(batch)
        return batch

    def _first_waiting(self, by_age: bool) -> Row | None:
        """Return the next row, of those for which there is room, of the request first in line."""
        first: Row | None = None
        for rows in self._queue.values():
            row = next(iter(rows.values()))
            beside = self._under_way[row.characters > self._batching.characters]
            if beside and beside + row.characters > _OPEN:
                continue
            if first is None or row.rank < first.rank:
                first = row
            if by_age or first.rank[0] == 0:  # they are in the order of their arrival
                break
        return first

    def _open(self, first: Row) -> Batch:
        """Open a batch of rows up to the budget: the first, and those that are like it."""
        budget = self._batching.characters
        own = self._queue[first.asker].items()
        others = (one for rows in self._queue.values() for one in rows.items())
        pairs: dict[Future[Verdict], Row] = {}
        for future, row in chain(own, others):
            if future in pairs or not first.is_like(row):
                continue
            if pairs and sum(one.characters for one in pairs.values()) + row.characters > budget:
                break
            pairs[future] = row
        for future, row in pairs.items():
            self._remove(row, future)
            self._under_way[row.characters > budget] += row.characters
        return Batch(self._judge, [*pairs.items()])

    def _remove(self, row: Row, future: Future[Verdict]) -> None:
        rows = self._queue.get(row.asker, {})
        if rows.pop(future, None) is not None:
            self._characters -= row.characters
            self._count -= 1
            if not rows:
                del self._queue[row.asker]
        self._changed.set()

    def _end(self, batch: Batch) -> None:
        """Make room for others, and learn how long its kind takes."""
        for _, row in batch.pairs:
            self._under_way[row.characters > self._batching.characters] -= row.characters
        if batch.share:
            pace = batch.seconds / (batch.share * batch.length)
            self._pace += (_NEWEST if self._pace else 1.0) * (pace - self._pace)

    async def _turn(self, batch: Batch) -> None:
        started = time.perf_counter()
        step: Step | Done = None
        why = None
        try:
            step = await asyncio.to_thread(advance, batch.work, batch.reply)
            batch.reply = await answer(step) if isinstance(step, Ask) else None
            if isinstance(step, Done) and len(step.verdicts) != len(batch.pairs):
                why = f"it gave {len(step.verdicts)} verdicts for {len(batch.pairs)} examples"
        except Exception as error:
            # The message of an internal error may hold the judged text; of a known error not.
            why = str(error) if isinstance(error, MoonlynxError) else type(error).__name__
            shown = visible(why, lines=False)
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("%s failed: %s\n%s", self._judge.info.name, shown, where)
        batch.add(time.perf_counter() - started, step)
        self._at_work.discard(batch)
        if why is not None:
            self._fail(batch, why)
        elif isinstance(step, Done):
            self._settle(batch, step.verdicts)
        else:
            self._resting.append(batch)
        self._changed.set()

    def _fail(self, batch: Batch, why: str) -> None:
        """Judge each row alone: a row's fault is not its neighbours'."""
        if len(batch.pairs) > 1:
            self._resting += [Batch(self._judge, [pair]) for pair in batch.pairs]
            return
        ((_, row),) = batch.pairs
        message = f"the judge failed: {why}"
        self._settle(batch, [unscored(self._judge.info, row.example.id, "backend", message)])

    def _settle(self, batch: Batch, verdicts: Sequence[Verdict]) -> None:
        batch.share = 1.0
        self._end(batch)
        self._on_batch(len(batch.pairs), batch.seconds)
        for (future, _), verdict in zip(batch.pairs, verdicts, strict=True):
            if not future.done():
                future.set_result(verdict)
