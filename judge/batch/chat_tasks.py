"""Ask chat models about many tasks, into files from which a killed run resumes.

Each task comes to one record, which names the task and its run, so a run started again asks about
the rest only, and its files end the same as those of an undisturbed run. A task that got no reply,
since a model could not be reached, comes to nothing, and is asked about again.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, Self, TypeVar

from ..backends.base import BackendError, ChatBackend, ChatReply, ChatRequest
from ..backends.replies import fault_of, usage_of
from ..contract.types import JudgeError, Record, Text, Usage
from ..decision.cost import Price, show_usage
from ..files.atomic import beside
from ..files.journal import check_run, read_journal, resume, to_line
from ..judges.prompted.objects import AnyReply, read_as

Key = TypeVar("Key", bound=Hashable)
Task = TypeVar("Task")
Read = TypeVar("Read")
Done = TypeVar("Done", bound=Record)

BATCH_SIZE = 32  # tasks; how many requests are under way at once is the backend's to bound
_OUTAGE = ("backend", "timeout")  # no reply: not the task's fault


class Fault(Record):
    """Why a reply cannot be used: `reason` is counted, `message` explains this one."""

    reason: Text
    message: Text = ""

    @classmethod
    def of(cls, error: JudgeError) -> Fault:
        """Return the error as a fault."""
        return cls(reason=error.code, message=error.message)

    def as_error(self) -> JudgeError:
        """Return the fault as an error; its reason must be one of the error codes."""
        return JudgeError.model_validate({"code": self.reason, "message": self.message})


@dataclass
class Asked(Generic[Read]):
    """The replies to one request, repeated until one could be used."""

    # in their order; each after the first is a retry
    replies: list[ChatReply] = field(default_factory=list)
    read: Read | None = None  # what the last one said; None where it cannot be used
    faults: list[Fault] = field(default_factory=list)  # of the replies that cannot be used
    outage: JudgeError | None = None  # why there was no reply
    closed: bool = False  # whether no further reply is wanted

    @property
    def result(self) -> Read | Fault:
        """Return what the last reply said, or why it cannot be used."""
        return self.faults[-1] if self.read is None else self.read

    @property
    def usage(self) -> Usage:
        """Return what the replies cost."""
        return usage_of(self.replies)

    def take(self, reply: ChatReply, read: Callable[[str], Read | Fault]) -> None:
        """Record a reply, and read it where it is whole."""
        self.replies.append(reply)
        error = fault_of(reply)
        if error is None:
            found = read(reply.text)
            if isinstance(found, Fault):
                self.faults.append(found)
            else:
                self.read, self.closed = found, True
        elif error.code in _OUTAGE:
            self.outage, self.closed = error, True
        else:
            self.faults.append(Fault.of(error))
            self.closed = error.code != "truncated"  # nothing else will pass


def ask(
    model: ChatBackend,
    tasks: Sequence[Task],
    request: Callable[[Task, int], ChatRequest],
    read: Callable[[Task, int, str], Read | Fault],
    tries: int = 1,
) -> list[Asked[Read]]:
    """Ask about all tasks at once, and again about those whose reply cannot be used."""
    found: list[Asked[Read]] = [Asked() for _ in tasks]
    for attempt in range(tries):
        open_ = [(task, one) for task, one in zip(tasks, found, strict=True) if not one.closed]
        replies = model.complete([request(task, attempt) for task, _ in open_]) if open_ else []
        for (task, one), reply in zip(open_, replies, strict=True):
            one.take(reply, partial(read, task, attempt))
    return found


def read_reply(text: str, kind: type[AnyReply]) -> AnyReply | Fault:
    """Read a reply that must be one JSON object of this kind."""
    reply = read_as(text, kind)
    return Fault.of(reply) if isinstance(reply, JudgeError) else reply


@dataclass
class Tally:
    """What a run has come to so far."""

    # tasks that came to something, by its label or "made"
    made: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)  # the other tasks, by reason
    # replies that could not be used, by reason
    faults: Counter[str] = field(default_factory=Counter)
    retries: int = 0  # calls that repeated another
    usage: dict[str, Usage] = field(default_factory=dict)  # calls and tokens, by what was asked for

    @property
    def tasks(self) -> int:
        """Return the number of tasks that are done."""
        return self.made.total() + self.dropped.total()

    def spend(self, what: str, usage: Usage) -> None:
        """Add what replies cost."""
        self.usage[what] = self.usage.get(what, Usage()) + usage


def show_bill(usage: Mapping[str, Usage], prices: Mapping[str, Price]) -> str:
    """Return calls and tokens and, where prices are known, their sum in one line."""
    parts = [show_usage(used, what) for what, used in usage.items()]
    if prices:
        parts.append(f"cost {sum(prices[what].of(used) for what, used in usage.items()):,.2f}")
    return ", ".join(parts) or "nothing"


class Lost(NamedTuple):
    """A task that got no reply: which model was asked, about what, and what went wrong."""

    model: str
    task: object
    error: JudgeError


class Ledger(ABC, Generic[Done]):
    """The tasks that are done, by the records in a run's files, and their counts."""

    def __init__(self, files: Mapping[Path, type[Done]]) -> None:
        self.files, self.tally = files, Tally()
        self._keys: set[Hashable] = set()

    @abstractmethod
    def origin(self, record: Done) -> tuple[Hashable, Record]:
        """Return the key of the record's task, and what identifies its run."""

    @abstractmethod
    def count(self, record: Done) -> None:
        """Add the record to the tally."""

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def add(self, record: Done) -> None:
        """Add a record."""
        self._keys.add(self.origin(record)[0])
        self.count(record)

    def read(self) -> Self:
        """Add what the files hold now, of whichever run.

        Raises:
            RunMismatch: a line is no such record.
        """
        for path, kind in self.files.items():
            for record in read_journal(path, kind):
                self.add(record)
        return self


def run_tasks(
    done: Ledger[Done],
    run: Record,
    tasks: Mapping[Key, Task],
    do: Callable[[Sequence[Task]], Iterable[Done | Lost]],
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> None:
    """Do the tasks that are not done yet, in batches, and write what they come to in their order.

    Raises:
        BackendError: some tasks got no reply; the others are in the files.
        InUse: another process is writing the files.
        RunMismatch: the files hold records of another run, or a line is no such record.
    """
    lost: list[Lost] = []
    output = next(iter(done.files))
    with ExitStack() as stack:
        journals = [(stack.enter_context(resume(path)), kind) for path, kind in done.files.items()]
        for journal, kind in journals:
            for record in journal.read(kind):
                check_run(output, dict(done.origin(record)[1]), dict(run))
                done.add(record)
        on_progress(done.tally)
        left = [task for key, task in tasks.items() if key not in done]
        for start in range(0, len(left), BATCH_SIZE):
            found = list(do(left[start : start + BATCH_SIZE]))
            made = [one for one in found if not isinstance(one, Lost)]
            for journal, kind in journals:
                journal.append(to_line(one) for one in made if isinstance(one, kind))
            for record in made:
                done.add(record)
            on_progress(done.tally)
            lost += (one for one in found if isinstance(one, Lost))
            if not made:
                break
    if lost:
        model, task, error = lost[0]
        count = sum(key in done for key in tasks)
        raise BackendError(
            f"{model}, row {task}: {error.message}; {count} of {len(tasks)} rows are done and kept "
            f"in {output}; run it again to ask the rest"
        )


def outcome_files(output: Path, made: type[Done], dropped: type[Done]) -> dict[Path, type[Done]]:
    """Return the files of a run that keeps apart what was made and what was dropped.

    With OUTPUT.dropped.jsonl deleted, what was dropped is tried again.
    """
    return {output: made, beside(output, ".dropped.jsonl"): dropped}


def hash_rows(rows: Iterable[Record]) -> str:
    """Return the SHA-256 of the rows in their order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(row.model_dump_json().encode("utf-8") + b"\n")
    return digest.hexdigest()
