"""A progress bar for long runs, on standard error, where a person is watching."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from ..batch.judging import Tally, batches, judge_batch
from ..contract.base import Judge
from ..contract.steps import Progress
from ..contract.types import Verdict
from ..rows.examples import Row
from .messages import Terminal, resumable

_PATIENCE = 2.0  # seconds without a bar


class _Rate(ProgressColumn):
    """Rows per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f} rows/s" if task.speed else "")


class _Claims(ProgressColumn):
    """Claims read of the rows under way, where their judge reports them."""

    def render(self, task: Task) -> Text:
        step: Progress | None = task.fields["under_way"]
        return Text(f"{step.claims:,} of {step.known:,} claims" if step else "")


@contextmanager
def progress_bar(total: int, *, keep: bool = True) -> Iterator[Callable[[Tally], None]]:
    """Show a bar over `total` rows while the block runs, once it took two seconds.

    Yields what to call with each tally. With `keep` the bar stays: the run can be resumed, and
    Ctrl-C prints how far it came.
    """
    console = Terminal(stderr=True)
    bar = Bar(
        TextColumn("judging"),
        BarColumn(),
        MofNCompleteColumn(),
        _Claims(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[counts]}"),
        console=console,
        transient=not keep,
        redirect_stdout=False,  # verdicts may go there
    )
    task: TaskID | None = None
    done = 0

    def update(tally: Tally) -> None:
        nonlocal task, done
        done = tally.rows
        unscored = f"{tally.unscored.total()} unscored"
        said: dict[str, Any] = {
            "completed": tally.rows + (tally.under_way.rows if tally.under_way else 0),
            "counts": f"{tally.passed} PASS, {tally.failed} FAIL, {unscored}",
            "under_way": tally.under_way,
        }
        if task is None:  # rows done by an earlier run do not count towards the rate
            task = bar.add_task("", total=total, **said)
        else:
            bar.update(task, **said)

    tells = resumable(lambda: f"{done:,} of {total:,} rows are done") if keep else nullcontext()
    with tells, _shown_late(bar) if console.is_terminal else nullcontext():
        yield update


@contextmanager
def _shown_late(bar: Bar) -> Iterator[None]:
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def judge_visibly(
    judge: Judge, rows: Iterable[Row], size: int, tally: Tally
) -> Iterator[tuple[Row, Verdict]]:
    """Yield rows with their verdicts, `size` at a time; a bar is shown meanwhile."""
    for batch in batches(rows, size):
        with progress_bar(tally.rows + len(batch), keep=False) as on_progress:
            on_progress(tally)
            verdicts = judge_batch(judge, batch, tally, on_progress)
        yield from zip(batch, verdicts, strict=True)
