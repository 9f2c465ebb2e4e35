"""Runs over chat models on the command line: estimated first, counted at the end."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from ..batch.chat_tasks import Tally, show_bill
from ..contract.types import Usage
from ..decision.cost import Price
from .messages import echo, make_folder, resumable

PRICE_HELP = "INPUT,OUTPUT price of a million tokens, to print the cost"
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Stop after the estimate of what it costs.")
]


def run_costed(
    total: int,
    done: Tally,
    estimate: Callable[[bool], Mapping[str, Usage]],
    prices: Mapping[str, Price],
    run: Callable[[Callable[[Tally], None]], Tally],
    output: Path,
    *,
    dry_run: bool,
) -> None:
    """Print what a run is likely to cost and may cost at most, then run it and print the counts.

    Args:
        total: rows of the run.
        done: what an earlier run has come to.
        estimate: what the rest takes, by what is asked for; at most, or likely.
        prices: by what is asked for; none where the cost is not to be printed.
        run: loads the models and asks them; takes what to call with each tally.
        output: the file that is written; its folder is created if missing.
        dry_run: stop after the estimate.
    """
    echo(f"done before: {done.tasks:,} of {total:,} rows", err=True)
    for word, most in (("likely", False), ("at most", True)):
        echo(f"to do, {word}: {show_bill(estimate(most), prices)}", err=True)
    if dry_run:
        return
    make_folder(output.parent)
    with (
        typer.progressbar(length=total, file=sys.stderr) as bar,
        resumable(lambda: f"{bar.pos:,} of {total:,} rows are done"),
    ):
        tally = run(lambda now: bar.update(now.tasks - bar.pos))
    echo(show_counts(tally), err=True)
    if tally.faults:
        echo(f"replies that could not be used: {_counted(tally.faults)}", err=True)
    retries = f"; {tally.retries} of the calls were retries" if tally.retries else ""
    echo(f"{show_bill(tally.usage, prices)}{retries}", err=True)


def show_counts(tally: Tally) -> str:
    """Return how many rows came to what, and why the others were dropped."""
    made = _counted(tally.made) or "0 made"
    reasons = "".join(f"\n  {count} {why}" for why, count in sorted(tally.dropped.items()))
    return f"{tally.tasks:,} rows: {made}, {tally.dropped.total():,} dropped{reasons}"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
