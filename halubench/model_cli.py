"""The commands that perturb rows' answers by a chat model, and that explain labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.chat import load_chat_model, parse_chat_model
from moonlynx.judge.contract.types import Usage
from moonlynx.judge.decision.cost import Price, show_usage
from moonlynx.judge.files.atomic import beside, keep_apart
from moonlynx.judge.files.journal import read_journal
from moonlynx.judge.terminal.messages import echo, make_folder, resumable

from .asking import Asker, Outcome, Tally, estimate
from .records import QARow
from .rows import read_rows, write_rows
from .tasks import Task

_MAX_TOKENS = 1_024

FileArgument = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="A .jsonl file of rows.")
]
OutputOption = Annotated[Path, typer.Option(help="JSONL file for the rows that are made.")]
PriceOption = Annotated[
    str | None, typer.Option(help="INPUT,OUTPUT price of a million tokens, to print the cost.")
]
MaxTokensOption = Annotated[int, typer.Option(min=1, help="Tokens that a reply may take.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Stop after the estimate of what it costs.")
]


def perturb(
    file: FileArgument,
    output: OutputOption,
    model: Annotated[
        str, typer.Option(help="Chat model that is asked, as MODEL@BACKEND?option=value.")
    ],
    price: PriceOption = None,
    max_tokens: MaxTokensOption = _MAX_TOKENS,
    dry_run: DryRunOption = False,
) -> None:
    """Perturb faithful answers subtly by a chat model, and verify each.

    Prints the estimated cost first. An interrupted run resumes from OUTPUT.asked.jsonl.
    """
    from .perturb.by_model import Perturbation

    keep_apart({"--output": output, "FILE": file})
    _ask(read_rows(file), Perturbation(max_tokens), model, output, price, dry_run=dry_run)


def trace(
    file: FileArgument,
    output: OutputOption,
    model: Annotated[
        str | None,
        typer.Option(help="Chat model that explains, as MODEL@BACKEND (default: templates)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the templates' wording.")] = 0,
    price: PriceOption = None,
    max_tokens: MaxTokensOption = _MAX_TOKENS,
    dry_run: DryRunOption = False,
) -> None:
    """Write for each labelled row why its label holds, by templates or a chat model.

    A chat model's cost is printed first. An interrupted run resumes from OUTPUT.asked.jsonl.
    """
    from .reasoning import Tracing

    keep_apart({"--output": output, "FILE": file})
    rows = read_rows(file)
    if model is None:
        _trace_by_template(rows, output, seed)
    else:
        _ask(rows, Tracing(max_tokens), model, output, price, dry_run=dry_run)


def _trace_by_template(rows: Sequence[QARow], output: Path, seed: int) -> None:
    from .reasoning import trace as write_trace

    traced = [write_trace(row, seed) for row in rows]
    made = [one for one in traced if isinstance(one, QARow)]
    dropped = Counter(one.reason for one in traced if not isinstance(one, QARow))
    write_rows(output, made)
    echo(_made_and_dropped(len(made), dropped), err=True)


def _ask(
    rows: Sequence[QARow],
    task: Task,
    model: str,
    output: Path,
    price: str | None,
    *,
    dry_run: bool,
) -> None:
    """Ask about the rows that are not done yet, and write all that were made, in their order."""
    spec = parse_chat_model(model)
    cost = None if price is None else Price.parse(price)
    journal = beside(output, ".asked.jsonl")
    done = {outcome.id for outcome in read_journal(journal, Outcome)}
    todo = [row for row in rows if row.id not in done]
    echo(f"done before: {len(rows) - len(todo):,} of {len(rows):,} rows", err=True)
    for word, most in (("likely", False), ("at most", True)):
        shown = _with_cost(estimate(todo, task, most=most), cost)
        echo(f"to do, {word}: {shown}", err=True)
    if dry_run:
        return
    asker = Asker(task, load_chat_model(spec), journal)

    def on_progress(tally: Tally) -> None:
        echo(f"{tally.rows:,} of {len(rows):,} rows done", err=True)

    make_folder(output.parent)
    with resumable(lambda: f"{asker.tally.rows:,} of {len(rows):,} rows are done"):
        made = asker.ask(rows, on_progress)
    write_rows(output, [row for row in made if row is not None])
    tally = asker.tally
    echo(_made_and_dropped(tally.made, tally.dropped), err=True)
    if unused := ", ".join(f"{count} {why}" for why, count in sorted(tally.faults.items())):
        echo(f"replies that could not be used: {unused}", err=True)
    echo(f"{_with_cost(tally.usage, cost)}; {tally.retries} of them retries", err=True)


def _made_and_dropped(made: int, dropped: Counter[str]) -> str:
    reasons = "".join(f"\n  {count} {why}" for why, count in sorted(dropped.items()))
    return f"{made + dropped.total()} rows: {made} made, {dropped.total()} dropped{reasons}"


def _with_cost(usage: Usage, price: Price | None) -> str:
    shown = show_usage(usage, "calls")
    return shown if price is None else f"{shown}, cost {price.of(usage):,.2f}"
