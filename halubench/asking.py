"""Ask a chat model about rows: each is in the journal under its id, its hash and the run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from typing_extensions import override

from moonlynx.judge.backends.base import ChatBackend
from moonlynx.judge.batch.chat_tasks import Fault, Ledger, Lost, Tally, ask, run_tasks
from moonlynx.judge.contract.types import BadInput, Record, Text, Usage
from moonlynx.judge.decision.cost import estimate_tokens
from moonlynx.judge.files.journal import RunMismatch, to_line

from .records import QARow

if TYPE_CHECKING:
    from .perturb.by_model import Perturbation
    from .reasoning import Tracing

Task: TypeAlias = "Perturbation | Tracing"
"""What is asked about each row, and how a reply becomes a new row."""

RETRIES = 2  # further tries where a reply cannot be used
CALLS = "calls"


class RunInfo(Record):
    """What identifies a run: its model and its prompts."""

    model: Text
    prompts: tuple[Text, ...]


class Outcome(Record):
    """What became of one row."""

    # of the row asked about
    id: Text
    sha256: Text
    run: RunInfo  # the run that asked
    row: QARow | None = None  # what was made of it; None where no reply could be used
    # of the replies that could not be used, in the order in which they came
    faults: tuple[Fault, ...] = ()
    usage: Usage  # what it cost; every call after the first is a retry


class Outcomes(Ledger[Outcome]):
    """Outcomes in a journal, by row id.

    Args:
        journal: a JSONL file.
        hashes: of the rows that are asked about, by id.
    """

    def __init__(self, journal: Path, hashes: Mapping[str, str] | None = None) -> None:
        super().__init__({journal: Outcome})
        self.rows: dict[str, QARow | None] = {}
        self._journal, self._hashes = journal, hashes or {}

    @override
    def origin(self, record: Outcome) -> tuple[str, RunInfo]:
        return record.id, record.run

    @override
    def count(self, record: Outcome) -> None:
        if self._hashes.get(record.id, record.sha256) != record.sha256:
            raise RunMismatch(self._journal, f"holds another row {record.id!r}")
        self.rows[record.id] = record.row
        self.tally.spend(CALLS, record.usage)
        self.tally.retries += max(0, record.usage.calls - 1)
        self.tally.faults.update(fault.reason for fault in record.faults)
        if record.row is None:
            self.tally.dropped[record.faults[-1].reason] += 1
        else:
            self.tally.made["made"] += 1


class Asker:
    """Asks a chat model about rows, each of them once."""

    def __init__(self, task: Task, model: ChatBackend, journal: Path) -> None:
        """Set up; nothing is asked yet. Outcomes go to the journal, a JSONL file."""
        self.tally = Tally()
        self._task, self._model, self._journal = task, model, journal
        self._run = RunInfo(model=model.name, prompts=task.prompts)

    def ask(
        self, rows: Sequence[QARow], on_progress: Callable[[Tally], None] = lambda _: None
    ) -> list[QARow | None]:
        """Ask about the rows that are not in the journal yet.

        Returns:
            For each row what was made of it; None where no reply could be used.

        Raises:
            BackendError: some rows got no reply; all others are in the journal.
            BadInput: nothing can be asked about a row, or two have one id.
            InUse: another process is writing the journal.
            RunMismatch: the journal is of another model or prompt, or has another row under one's
                id.
        """
        for name, times in Counter(row.id for row in rows).items():
            if times > 1:
                raise BadInput("bad_input", "id", f"{name!r} is that of two rows; make it unique")
        # Another process may have written to the journal since.
        done = Outcomes(self._journal, {row.id: _hash(row) for row in rows})
        self.tally = done.tally
        run_tasks(done, self._run, {row.id: row for row in rows}, self._do, on_progress)
        return [done.rows[row.id] for row in rows]

    def _do(self, rows: Sequence[QARow]) -> Iterator[Outcome | Lost]:
        task = self._task
        found = ask(
            self._model,
            rows,
            task.request,
            lambda row, _, text: task.read(row, text),
            tries=1 + RETRIES,
        )
        for row, asked in zip(rows, found, strict=True):
            if asked.outage:
                yield Lost(self._model.name, row.id, asked.outage)
            else:
                yield Outcome(
                    id=row.id,
                    sha256=_hash(row),
                    run=self._run,
                    row=asked.read,
                    faults=tuple(asked.faults),
                    usage=asked.usage,
                )


def estimate(rows: Iterable[QARow], task: Task, *, most: bool) -> Usage:
    """Estimate what asking about the rows will take, from the length of their texts.

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


def _hash(row: QARow) -> str:
    return hashlib.sha256(to_line(row)).hexdigest()
