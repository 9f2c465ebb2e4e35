"""The two files of a long run over rows: what was made, and what was dropped and why.

`OUTPUT` holds what was made, `OUTPUT.dropped.jsonl` the rest. Both are journals: a line cut short
by a kill does not count, and what is done is not done again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from moonlynx.judge.journal import end_with_whole_line, read_journal, to_line
from moonlynx.judge.types import Record

Task = TypeVar("Task")
Made = TypeVar("Made", bound=Record)
Dropped = TypeVar("Dropped", bound=Record)
BATCH_SIZE = 32  # tasks; how many requests are under way at once is the backend's to bound


def hash_rows(rows: Iterable[Record]) -> str:
    """Give the SHA-256 of the rows in their order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(row.model_dump_json().encode("utf-8") + b"\n")
    return digest.hexdigest()


def read_outcomes(
    output: Path, made: type[Made], dropped: type[Dropped]
) -> Iterator[Made | Dropped]:
    """Read what was made, then what was dropped.

    Raises:
        RunMismatch: a line is of another form.
    """
    yield from read_journal(output, made)
    yield from read_journal(_dropped(output), dropped)


def write_outcomes(
    output: Path,
    tasks: Sequence[Task],
    do: Callable[[Sequence[Task]], Iterable[Made | Dropped]],
    dropped: type[Dropped],
    on_batch: Callable[[Sequence[Made | Dropped]], None],
) -> None:
    """Do the tasks in batches, and append what comes of them in their order.

    Args:
        output: the file of what is made.
        tasks: those that are not done yet.
        do: a batch of them.
        dropped: the form of what goes to the file beside `output`.
        on_batch: called with what came of a batch, once it is written.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    for path in (output, _dropped(output)):
        end_with_whole_line(path)
    with output.open("ab") as made_file, _dropped(output).open("ab") as dropped_file:
        for start in range(0, len(tasks), BATCH_SIZE):
            outcomes = list(do(tasks[start : start + BATCH_SIZE]))
            for outcome in outcomes:
                file = dropped_file if isinstance(outcome, dropped) else made_file
                file.write(to_line(outcome))
            made_file.flush()
            dropped_file.flush()
            on_batch(outcomes)


def _dropped(output: Path) -> Path:
    return output.with_name(output.name + ".dropped.jsonl")
