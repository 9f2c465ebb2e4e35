"""Labels or rewrites rows into a file that survives being killed.

`OUTPUT` holds the rows made, `OUTPUT.dropped.jsonl` the others and why. Each line names its run and
the line of the input that it was made of, so a run started again skips what is done and goes
on: the files end the same as those of an undisturbed run. With the second one deleted, what was
dropped is tried again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from moonlynx.judge.backends.base import ChatBackend, ChatReply, ChatRequest
from moonlynx.judge.backends.replies import fault_of, usage_of
from moonlynx.judge.contract.types import JudgeError, Usage
from moonlynx.judge.decision.cost import add_usage, estimate_tokens
from moonlynx.judge.files.journal import check_run
from moonlynx.judge.metrics.definition import MetricDefinition

from ...outcomes import read_outcomes, resume_outcomes
from .asking import (
    LABEL,
    REWRITE,
    label_request,
    read_labels,
    read_rewritten,
    rewrite_request,
    vote,
)
from .records import DraftRow, DroppedRow, MadeRow, Provenance, RunInfo

_REASONING = 150  # tokens of a reply beside what it copies, likely


@dataclass(frozen=True)
class MadeFields:
    """A row without its provenance."""

    row: DraftRow
    votes: dict[str, int] | None = None


@dataclass(frozen=True)
class Label:
    """Labels rows by the vote of the models.

    Attributes:
        confirm: drop a row whose own labels the vote does not confirm, as after rewriting.
    """

    definition: MetricDefinition
    max_tokens: int = 512
    confirm: bool = False
    name: str = LABEL

    def request(self, row: DraftRow) -> ChatRequest:
        """Ask for the labels; every model gets the same request."""
        return label_request(self.definition, row, self.max_tokens)

    def make(self, row: DraftRow, replies: Sequence[ChatReply]) -> MadeFields | JudgeError:
        """Return the vote over the replies, one of each model, or why there is none."""
        said = [fault_of(reply) or read_labels(self.definition, reply.text) for reply in replies]
        voted = vote(self.definition, said)
        if isinstance(voted, JudgeError):
            return voted
        labels, votes = voted
        if self.confirm and labels != frozenset(row.labels or ()):
            had, got = (", ".join(sorted(each)) or "none" for each in (row.labels or (), labels))
            return JudgeError(code="contradictory", message=f"the row says {had}, the vote {got}")
        return MadeFields(row.model_copy(update={"labels": tuple(sorted(labels))}), votes)


@dataclass(frozen=True)
class Rewrite:
    """Rewrites rows, by one model, so that their labels hold by the metric's definition."""

    definition: MetricDefinition
    max_tokens: int = 2_048
    name: str = REWRITE

    def request(self, row: DraftRow) -> ChatRequest:
        """Ask for the row to be rewritten."""
        return rewrite_request(self.definition, row, self.max_tokens)

    def make(self, row: DraftRow, replies: Sequence[ChatReply]) -> MadeFields | JudgeError:
        """Read the rewritten fields; the row keeps its group, and with it its side of a split."""
        (reply,) = replies
        found = fault_of(reply) or read_rewritten(self.definition, row, reply.text)
        if isinstance(found, JudgeError):
            return found
        fields = row.model_dump() | dict(found)
        return MadeFields(DraftRow.model_validate(fields))


Task = Label | Rewrite
"""What is asked of every model about a row, and what is made of their replies."""


@dataclass
class Tally:
    """What has been written so far.

    Attributes:
        made: rows.
        dropped: others, by the code of the error.
        usage: of each model, by its place.
        done: lines of the input.
    """

    made: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    usage: dict[int, Usage] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)

    def add(self, row: MadeRow | DroppedRow) -> None:
        """Count one row."""
        for place, used in enumerate(row.provenance.usage):
            self.usage[place] = add_usage(self.usage.get(place, Usage()), used)
        self.done.add(row.provenance.line)
        if isinstance(row, DroppedRow):
            self.dropped[row.error.code] += 1
        else:
            self.made += 1


def read_done(output: Path) -> Tally:
    """Count what an earlier run has written, whichever it was.

    Raises:
        RunMismatch: a line was not written by this command.
    """
    tally = Tally()
    for row in read_outcomes(output, MadeRow, DroppedRow):
        tally.add(row)
    return tally


def estimate(task: Task, rows: Sequence[DraftRow], done: Tally) -> Usage:
    """Estimate what one model will be asked and reply, from the length of the texts."""
    asked = [task.request(row) for line, row in enumerate(rows, start=1) if line not in done.done]
    sizes = [estimate_tokens(request.messages[-1].content) for request in asked]
    copied = sum(sizes) if task.name == REWRITE else 0
    reply = min(_REASONING, asked[0].max_tokens) if asked else 0
    return Usage(
        calls=len(asked),
        input_tokens=round(sum(sizes)),
        output_tokens=round(len(asked) * reply + copied),
    )


def run_task(
    task: Task,
    rows: Sequence[DraftRow],
    models: Sequence[ChatBackend],
    run: RunInfo,
    output: Path,
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Do what is not done yet, and write it in the order of the rows.

    Args:
        task: what is asked.
        rows: all of the run's, from the first.
        models: are all asked about every row.
        run: what identifies the run.
        output: JSONL file of MadeRows; DroppedRows go to the file beside it.
        on_progress: called with the counts so far after every batch.

    Raises:
        InUse: another process is writing the files.
        RunMismatch: the files hold rows of another run.
        DefinitionError: the metric's prompt cannot be asked of a chat model.
    """
    tally = Tally()

    def count(found: Sequence[MadeRow | DroppedRow]) -> None:
        for one in found:
            tally.add(one)
        on_progress(tally)

    with resume_outcomes(output, MadeRow, DroppedRow) as outcomes:
        for one in outcomes.read():
            check_run(output, dict(one.provenance.run), dict(run))
            tally.add(one)
        on_progress(tally)
        left = [(line, row) for line, row in enumerate(rows, start=1) if line not in tally.done]
        outcomes.write(left, partial(_do, task, models, run), count)
    return tally


def _do(
    task: Task, models: Sequence[ChatBackend], run: RunInfo, batch: Sequence[tuple[int, DraftRow]]
) -> Iterator[MadeRow | DroppedRow]:
    requests = [task.request(row) for _, row in batch]
    replies = [model.complete(requests) for model in models]
    for (line, row), *mine in zip(batch, *replies, strict=True):
        usage = tuple(usage_of([reply]) for reply in mine)
        provenance = Provenance(run=run, line=line, usage=usage)
        made = task.make(row, mine)
        if isinstance(made, JudgeError):
            yield DroppedRow(id=row.id, error=made, provenance=provenance)
        else:
            fields = made.row.model_dump()
            yield MadeRow(**fields, votes=made.votes, provenance=provenance)
