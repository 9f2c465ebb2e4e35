"""A progress bar for long runs, on standard error, where a person is watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from .batch import Tally
from .messages import Terminal, resumable


class _Rate(ProgressColumn):
    """Rows per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f} rows/s" if task.speed else "")


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[Tally], None]]:
    """Show a bar over `total` rows while the block runs; yields what to call with each tally.

    Ctrl-C leaves word of how far the run came.
    """
    console = Terminal(stderr=True)
    progress = Progress(
        TextColumn("judging"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[counts]}"),
        console=console,
        disable=not console.is_terminal,
    )
    task: TaskID | None = None
    done = 0

    def update(tally: Tally) -> None:
        nonlocal task, done
        done = tally.rows
        counts = f"{tally.passed} PASS, {tally.failed} FAIL, {tally.unscored.total()} unscored"
        if task is None:  # rows done by an earlier run do not count towards the rate
            task = progress.add_task("", total=total, completed=tally.rows, counts=counts)
        else:
            progress.update(task, completed=tally.rows, counts=counts)

    with resumable(lambda: f"{done:,} of {total:,} rows are done"), progress:
        yield update
