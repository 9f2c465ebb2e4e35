"""The two files of a long run over rows: what was made, and what was dropped and why.

`OUTPUT` holds what was made, `OUTPUT.dropped.jsonl` the rest. Both are journals: a line cut short
by a kill does not count, and what is done is not done again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from moonlynx.judge.contract.types import Record
from moonlynx.judge.files.atomic import beside
from moonlynx.judge.files.journal import Journal, read_journal, resume, to_line

Task = TypeVar("Task")
Made = TypeVar("Made", bound=Record)
Dropped = TypeVar("Dropped", bound=Record)
BATCH_SIZE = 32  # tasks; how many requests are under way at once is the backend's to bound


def hash_rows(rows: Iterable[Record]) -> str:
    """Return the SHA-256 of the rows in their order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(row.model_dump_json().encode("utf-8") + b"\n")
    return digest.hexdigest()


class Outcomes(Generic[Made, Dropped]):
    """The two files, open and locked: first read, then appended to."""

    def __init__(
        self, output: Journal, beside: Journal, made: type[Made], dropped: type[Dropped]
    ) -> None:
        self._output, self._beside = output, beside
        self._made, self._dropped = made, dropped

    def read(self) -> Iterator[Made | Dropped]:
        """Yield what was made, then what was dropped.

        Raises:
            RunMismatch: a line is of another form.
        """
        yield from self._output.read(self._made)
        yield from self._beside.read(self._dropped)

    def write(
        self,
        tasks: Sequence[Task],
        do: Callable[[Sequence[Task]], Iterable[Made | Dropped]],
        on_batch: Callable[[Sequence[Made | Dropped]], None],
    ) -> None:
        """Do the tasks in batches, and append what comes of them in their order.

        Args:
            tasks: those that are not done yet.
            do: a batch of them.
            on_batch: called with what came of a batch, once it is written.
        """
        for start in range(0, len(tasks), BATCH_SIZE):
            found = list(do(tasks[start : start + BATCH_SIZE]))
            for journal, kind in ((self._output, self._made), (self._beside, self._dropped)):
                journal.append(to_line(one) for one in found if isinstance(one, kind))
            on_batch(found)


@contextmanager
def resume_outcomes(
    output: Path, made: type[Made], dropped: type[Dropped]
) -> Iterator[Outcomes[Made, Dropped]]:
    """Yield the two files, open to resume, for this process alone.

    Raises:
        InUse: another process is writing them; says which.
    """
    with resume(output) as file, resume(_dropped(output)) as beside:
        yield Outcomes(file, beside, made, dropped)


def read_outcomes(
    output: Path, made: type[Made], dropped: type[Dropped]
) -> Iterator[Made | Dropped]:
    """Yield what the two files hold now.

    Raises:
        RunMismatch: a line is of another form.
    """
    yield from read_journal(output, made)
    yield from read_journal(_dropped(output), dropped)


def _dropped(output: Path) -> Path:
    return beside(output, ".dropped.jsonl")
