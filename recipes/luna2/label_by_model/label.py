"""Label or rewrite rows, into files from which a killed run resumes.

OUTPUT holds the labelled or rewritten rows, OUTPUT.dropped.jsonl the others and why.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from typing_extensions import override

from moonlynx.judge.backends.base import ChatBackend
from moonlynx.judge.batch.chat_tasks import (
    Fault,
    Ledger,
    Lost,
    Tally,
    ask,
    outcome_files,
    run_tasks,
)
from moonlynx.judge.contract.types import Count, Id, JudgeError, Record, Text, Usage
from moonlynx.judge.decision.cost import estimate_tokens

from ..data.rows import DraftRow
from .questions import REWRITE, Label, Rewrite

_REASONING = 150  # tokens of a reply beside what it copies, likely


class RunInfo(Record):
    """What identifies a run: its rows by hash, its metric, what was asked, and of which models."""

    input_sha256: Text
    metric: Text
    task: Text
    models: tuple[Text, ...]


class Provenance(Record):
    """Where a row comes from, and what it cost."""

    run: RunInfo
    line: Count  # of the input that it was made of, from 1
    usage: tuple[Usage, ...]  # of each of the run's models


class MadeRow(DraftRow):
    """A row that a head can be trained on."""

    votes: dict[Text, Count] | None = None  # how many models gave each class, where they voted
    provenance: Provenance


class DroppedRow(Record):
    """A row that came to nothing, and why."""

    id: Id | None = None
    error: JudgeError
    provenance: Provenance


Finished = MadeRow | DroppedRow


Task = Label | Rewrite
"""What is asked of every model about a row, and what is made of their replies."""


class Done(Ledger[Finished]):
    """The rows that are done, by the line of the input."""

    def __init__(self, output: Path) -> None:
        super().__init__(outcome_files(output, MadeRow, DroppedRow))

    @override
    def origin(self, record: Finished) -> tuple[int, RunInfo]:
        return record.provenance.line, record.provenance.run

    @override
    def count(self, record: Finished) -> None:
        for place, used in enumerate(record.provenance.usage):
            self.tally.spend(calls_of(place), used)
        if isinstance(record, DroppedRow):
            self.tally.dropped[record.error.code] += 1
        else:
            self.tally.made["made"] += 1


def calls_of(model: int) -> str:
    """Return what a model is asked for, as it is named in a bill."""
    return f"calls of model {model + 1}"


def estimate(task: Task, rows: Iterable[DraftRow], *, most: bool) -> Usage:
    """Estimate what one model will be asked and reply; `most`: with replies as long as they may be.

    The estimate is from the length of the texts.
    """
    asked = [task.request(row) for row in rows]
    sizes = [estimate_tokens(request.messages[-1].content) for request in asked]
    copied = sum(sizes) if task.name == REWRITE else 0
    reply = min(_REASONING, task.max_tokens)
    likely = round(len(asked) * reply + copied)
    return Usage(
        calls=len(asked),
        input_tokens=round(sum(sizes)),
        output_tokens=len(asked) * task.max_tokens if most else likely,
    )


def run_task(
    task: Task,
    rows: Sequence[DraftRow],
    models: Sequence[ChatBackend],
    run: RunInfo,
    output: Path,
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Ask all models about each row not done yet; write MadeRows to `output`, in the rows' order.

    `rows` are all of the run's. `on_progress` gets the counts so far after every batch.

    Raises:
        BackendError: some got no reply; all others are in the files.
        InUse: another process is writing the files.
        RunMismatch: the files hold rows of another run.
        DefinitionError: the metric's prompt cannot be asked of a chat model.
    """
    done = Done(output)
    tasks = {line: (line, row) for line, row in enumerate(rows, start=1)}
    run_tasks(done, run, tasks, partial(_do, task, models, run), on_progress)
    return done.tally


def _do(
    task: Task, models: Sequence[ChatBackend], run: RunInfo, batch: Sequence[tuple[int, DraftRow]]
) -> Iterator[Finished | Lost]:
    asked = [
        ask(
            model,
            batch,
            lambda one, _: task.request(one[1]),
            lambda one, _, text: task.read(one[1], text),
        )
        for model in models
    ]
    for (line, row), *replies in zip(batch, *asked, strict=True):
        outages = [
            Lost(model.name, row.id or line, one.outage)
            for model, one in zip(models, replies, strict=True)
            if one.outage
        ]
        if outages:
            yield outages[0]
            continue
        provenance = Provenance(run=run, line=line, usage=tuple(one.usage for one in replies))
        made = task.make(row, [one.result for one in replies])
        if isinstance(made, Fault):
            yield DroppedRow(id=row.id, error=made.as_error(), provenance=provenance)
        else:
            yield MadeRow(**made, provenance=provenance)
