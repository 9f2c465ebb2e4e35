"""Ask a chat model about rows, with a journal that survives being killed.

What became of each row is appended to the journal under the row's id, its hash and the run. Asking
again with the same journal returns what is there without a call, and at most the batch that was
under way when a run ended is asked again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from moonlynx.judge.backends.base import BackendError, ChatBackend, ChatReply
from moonlynx.judge.backends.replies import fault_of, usage_of
from moonlynx.judge.contract.types import BadInput, JudgeError, Record, Text, Usage
from moonlynx.judge.decision.cost import add_usage, estimate_tokens
from moonlynx.judge.files.journal import Journal, RunMismatch, check_run, resume, to_line

from .records import QARow
from .tasks import Fault, Task

BATCH_SIZE = 32  # rows; how many requests are under way at once is the backend's to bound
RETRIES = 2  # further tries where a reply cannot be used
_OUTAGE = ("backend", "timeout")  # no reply: not the row's fault, so it is asked again


class RunInfo(Record):
    """What identifies a run: its model and its prompts."""

    model: Text
    prompts: tuple[Text, ...]


class Outcome(Record):
    """What became of one row.

    Attributes:
        id, sha256: of the row asked about.
        run: the run that asked.
        row: what was made of it; None where no reply could be used.
        faults: of the replies that could not be used, in the order in which they came.
        usage: what it cost; every call after the first is a retry.
    """

    id: Text
    sha256: Text
    run: RunInfo
    row: QARow | None = None
    faults: tuple[Fault, ...] = ()
    usage: Usage


@dataclass
class Tally:
    """What is in the journal.

    Attributes:
        made: rows of which something was made.
        dropped: the others, by the reason of the last fault.
        faults: replies that could not be used, by reason.
        retries: calls after a row's first.
        usage: what it cost.
    """

    made: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def rows(self) -> int:
        """Return the number of rows with an outcome."""
        return self.made + self.dropped.total()

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self.usage = add_usage(self.usage, outcome.usage)
        self.retries += max(0, outcome.usage.calls - 1)
        self.faults.update(fault.reason for fault in outcome.faults)
        if outcome.row is None:
            self.dropped[outcome.faults[-1].reason] += 1
        else:
            self.made += 1


class Asker:
    """Asks a chat model about rows, each of them once.

    Attributes:
        tally: what is in the journal.
    """

    def __init__(self, task: Task, model: ChatBackend, journal: Path) -> None:
        """Set up; nothing is asked yet.

        Args:
            task: what is asked, and how replies are read.
            model: replies.
            journal: JSONL file of Outcomes.
        """
        self.tally = Tally()
        self._task, self._model, self._journal = task, model, journal
        self._run = RunInfo(model=model.name, prompts=task.prompts)
        self._done: dict[str, Outcome] = {}

    def ask(
        self, rows: Sequence[QARow], on_progress: Callable[[Tally], None] = lambda _: None
    ) -> list[QARow | None]:
        """Ask about the rows that are not in the journal yet.

        Args:
            rows: under ids of their own.
            on_progress: called with the counts so far after every batch.

        Returns:
            For each row what was made of it; None where no reply could be used.

        Raises:
            BackendError: some rows got no reply; all others are in the journal.
            BadInput: nothing can be asked about a row, or two have one id.
            InUse: another process is writing the journal.
            RunMismatch: the journal is of another model or prompt, or has another row under one's
                id.
        """
        lost: list[_Draft] = []
        with resume(self._journal) as journal:
            self._read(journal)
            todo = self._left(rows)
            for start in range(0, len(todo), BATCH_SIZE):
                drafts = _ask(todo[start : start + BATCH_SIZE], self._task, self._model)
                lost += [draft for draft in drafts if draft.outage]
                self._write(journal, [draft for draft in drafts if not draft.outage])
                on_progress(self.tally)
                if all(draft.outage for draft in drafts):
                    break
        if lost:
            raise BackendError(self._outage(lost[0], rows))
        return [self._done[row.id].row for row in rows]

    def _left(self, rows: Iterable[QARow]) -> list[QARow]:
        """Return the rows that are not in the journal yet.

        Raises:
            RunMismatch: the journal has another row under the id of one.
            BadInput: two rows have one id.
        """
        left, ids = [], set[str]()
        for row in rows:
            if row.id in ids:
                raise BadInput("bad_input", "id", f"{row.id!r} is that of two rows; make it unique")
            ids.add(row.id)
            done = self._done.get(row.id)
            if done is None:
                left.append(row)
            elif done.sha256 != _hash(row):
                raise RunMismatch(self._journal, f"holds another row {row.id!r}")
        return left

    def _read(self, journal: Journal) -> None:
        """Read the journal, which another process may have written to since."""
        self.tally, self._done = Tally(), {}
        for outcome in journal.read(Outcome):
            check_run(self._journal, dict(outcome.run), dict(self._run))
            self._add(outcome)

    def _write(self, journal: Journal, drafts: Iterable[_Draft]) -> None:
        outcomes = [draft.outcome(self._run) for draft in drafts]
        journal.append(map(to_line, outcomes))
        for outcome in outcomes:
            self._add(outcome)

    def _add(self, outcome: Outcome) -> None:
        self._done[outcome.id] = outcome
        self.tally.add(outcome)

    def _outage(self, draft: _Draft, rows: Sequence[QARow]) -> str:
        assert draft.outage is not None
        done = len(rows) - len(self._left(rows))
        return (
            f"{self._model.name}, row {draft.row.id}: {draft.outage.message}; {done} of "
            f"{len(rows)} rows are done and kept in {self._journal}; run it again to ask the rest"
        )


def estimate(rows: Iterable[QARow], task: Task, *, most: bool) -> Usage:
    """Estimate what asking about the rows will take, from the length of their texts.

    Args:
        rows: what is to be asked about.
        task: what is asked.
        most: every reply as long as it may be, and every row asked about as often as it may be.

    Raises:
        BadInput: nothing can be asked about one of the rows.
    """
    calls, asked, replied = 0, 0.0, 0.0
    times = 1 + RETRIES if most else 1
    for row in rows:
        prompt = sum(estimate_tokens(turn.content) for turn in task.request(row, 0).messages)
        reply = task.max_tokens if most else min(task.likely_tokens(row), task.max_tokens)
        calls, asked, replied = calls + times, asked + times * prompt, replied + times * reply
    return Usage(calls=calls, input_tokens=round(asked), output_tokens=round(replied))


@dataclass
class _Draft:
    """A row that is being asked about.

    Attributes:
        closed: no further reply is wanted: one could be used, or none will be better.
        outage: why there was no reply.
    """

    row: QARow
    replies: list[ChatReply] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    made: QARow | None = None
    closed: bool = False
    outage: JudgeError | None = None

    def take(self, reply: ChatReply, task: Task) -> None:
        """Record what a reply makes of its task."""
        self.replies.append(reply)
        error = fault_of(reply)
        if error is not None and error.code in _OUTAGE:
            self.outage, self.closed = error, True
        elif error is not None:
            self.faults.append(Fault(reason=error.code, message=error.message))
            self.closed = error.code != "truncated"
        else:
            read = task.read(self.row, reply.text)
            if isinstance(read, Fault):
                self.faults.append(read)
            else:
                self.made, self.closed = read, True

    def outcome(self, run: RunInfo) -> Outcome:
        return Outcome(
            id=self.row.id,
            sha256=_hash(self.row),
            run=run,
            row=self.made,
            faults=tuple(self.faults),
            usage=usage_of(self.replies),
        )


def _ask(rows: Sequence[QARow], task: Task, model: ChatBackend) -> list[_Draft]:
    drafts = [_Draft(row) for row in rows]
    for attempt in range(1 + RETRIES):
        asked = [draft for draft in drafts if not draft.closed]
        if not asked:
            break
        replies = model.complete([task.request(draft.row, attempt) for draft in asked])
        for draft, reply in zip(asked, replies, strict=True):
            draft.take(reply, task)
    return drafts


def _hash(row: QARow) -> str:
    return hashlib.sha256(to_line(row)).hexdigest()
