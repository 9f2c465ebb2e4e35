"""Writes to the audit's database from a thread of its own, so that judging never waits for it.

One bounded queue: feedback finds the verdict returned just before; what does not fit, or cannot be
written after some attempts, is counted and dropped.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from moonlynx.judge.contract.types import Example, MoonlynxError, Verdict
from moonlynx.judge.contract.visible import visible

from ..wire import Feedback, Kept
from .database import AuditError, Database, Given, now

_ROOM = 64 << 20  # characters of text that may wait to be written
_ROW = 1_000  # what a row counts besides its texts
_BATCH = 256  # verdicts written at once
_PAUSES = (0.1, 0.5, 2.0, 5.0)  # seconds before a batch is tried again
_PRUNE_EVERY = 3_600.0  # seconds
_log = logging.getLogger("moonlynx.serve")


@dataclass(frozen=True)
class AuditSettings:
    """What is stored, and where."""

    url: str  # as SQLAlchemy takes it
    texts: bool = False  # store what was judged, and not only its hash
    days: int | None = None  # after which it is deleted


class NoRoom(MoonlynxError):
    """Too much waits to be written."""


class _Word(NamedTuple):
    feedback: Feedback
    reply: Future[Kept]


class Recorder:
    """The queue before the database. `record` and `correct` never wait."""

    def __init__(
        self,
        settings: AuditSettings,
        on_dropped: Callable[[str, int], None] = lambda _reason, _rows: None,
    ) -> None:
        """Open the database; nothing is written before `start`."""
        self._settings = settings
        self._on_dropped = on_dropped
        self._database = Database(settings.url, make=True)
        self._line: queue.SimpleQueue[Given | _Word | None] = queue.SimpleQueue()
        self._held = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)

    def start(self) -> None:
        """Start to write."""
        self._thread.start()

    def close(self) -> None:
        """Write what waits, each batch in one attempt, and close the database."""
        self._closing.set()
        self._line.put(None)
        self._thread.join()
        self._database.close()

    def record(self, verdict_id: str, example: Example, verdict: Verdict) -> None:
        """Queue a verdict, or count it as dropped."""
        given = Given(verdict_id, now(), example, verdict)
        if self._take_room(_size(given)):
            self._line.put(given)
        else:
            self._on_dropped("full", 1)

    def correct(self, feedback: Feedback) -> Future[Kept]:
        """Queue user feedback; what comes back fails as `Database.correct` does."""
        word = _Word(feedback, Future())
        if not self._take_room(_ROW):
            raise NoRoom("the audit's queue is full; try again")
        self._line.put(word)
        return word.reply

    def _take_room(self, size: int) -> bool:
        with self._lock:
            if self._held + size > _ROOM:
                return False
            self._held += size
            return True

    def _run(self) -> None:
        days, prune_at = self._settings.days, time.monotonic()
        while True:
            if days is not None and time.monotonic() >= prune_at:
                self._prune(days)
                prune_at = time.monotonic() + _PRUNE_EVERY
            wait = None if days is None else max(0.0, prune_at - time.monotonic())
            try:
                first = self._line.get(timeout=wait)
            except queue.Empty:
                continue
            if first is None:
                return
            batch, word = self._gather(first)
            if batch:
                self._write(batch)
            if word is not None:
                self._answer(word)
            with self._lock:
                self._held -= sum(map(_size, batch)) + (_ROW if word else 0)

    def _gather(self, first: Given | _Word) -> tuple[list[Given], _Word | None]:
        """Take the verdicts at the queue's front, up to a batch, and the feedback behind them."""
        batch: list[Given] = []
        item: Given | _Word | None = first
        while isinstance(item, Given):
            batch.append(item)
            if len(batch) == _BATCH:
                return batch, None
            try:
                item = self._line.get_nowait()
            except queue.Empty:
                return batch, None
        if item is None:
            self._line.put(None)  # the end, for which `_run` looks
        return batch, item

    def _write(self, batch: list[Given]) -> None:
        for pause in (*_PAUSES, None):
            try:
                self._database.add(batch, texts=self._settings.texts)
            except AuditError as error:
                if pause is not None and not self._closing.wait(pause):
                    continue
                why = str(error)
            except Exception as error:  # an internal error, whose message may hold text
                why = type(error).__name__
            else:
                return
            why = visible(why, lines=False)
            _log.error("audit: %d verdicts were not stored: %s", len(batch), why)
            self._on_dropped("failed", len(batch))
            return

    def _answer(self, word: _Word) -> None:
        if word.reply.set_running_or_notify_cancel():
            try:
                word.reply.set_result(self._database.correct(word.feedback))
            except Exception as error:
                word.reply.set_exception(error)

    def _prune(self, days: int) -> None:
        try:
            self._database.prune(now() - timedelta(days=days))
        except AuditError as error:
            why = visible(str(error), lines=False)
            _log.error("audit: what is over %d days old was not deleted: %s", days, why)


def _size(given: Given) -> int:
    example = given.example
    texts = (example.question, *example.context, example.answer, *example.samples)
    turns = sum(len(turn.content) for turn in example.conversation)
    return _ROW + sum(map(len, texts)) + turns
