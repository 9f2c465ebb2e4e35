"""`python -m moonlynx.recipes.luna2.label_by_model label` and `… rewrite`: rows for a metric."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.chat import load_chat_model, parse_chat_model
from moonlynx.judge.batch.chat_tasks import Tally, hash_rows
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.decision.cost import Price
from moonlynx.judge.files.atomic import keep_apart
from moonlynx.judge.files.journal import read_records
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.terminal.costed import PRICE_HELP, DryRunOption, run_costed
from moonlynx.judge.terminal.messages import errors_as_messages

from ..cli import MetricArgument
from ..data import load
from ..data.rows import DraftRow
from .label import Done, RunInfo, Task, calls_of, estimate, run_task
from .questions import Label, Rewrite

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)

InputOption = Annotated[
    Path,
    typer.Option(
        "--input",
        exists=True,
        help="JSONL of the metric's inputs, or the folder with the open sets.",
    ),
]
OutputOption = Annotated[
    Path, typer.Option(help="JSONL file for the rows; an interrupted run resumes from it.")
]
PriceOption = Annotated[list[str] | None, typer.Option(help=f"{PRICE_HELP}; one for each model.")]
MostOption = Annotated[int | None, typer.Option(min=1, help="Rows at most, the first ones.")]


@app.command()
def label(
    metric: MetricArgument,
    input_file: InputOption,
    output: OutputOption,
    model: Annotated[
        list[str],
        typer.Option(help="Chat model that votes, as MODEL@BACKEND?option=value. Repeatable."),
    ],
    price: PriceOption = None,
    most: MostOption = None,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Drop rows whose own labels the vote does not confirm."),
    ] = False,
    dry_run: DryRunOption = False,
) -> None:
    """Label rows by the vote of several chat models. Prints the estimated cost first."""
    keep_apart({"--output": output, "--input": input_file})
    task = Label(load_definition(metric), confirm=confirm)
    _run(task, _rows(metric, input_file)[:most], model, price or [], output, dry_run=dry_run)


@app.command()
def rewrite(
    metric: MetricArgument,
    input_file: InputOption,
    output: OutputOption,
    model: Annotated[str, typer.Option(help="Chat model that writes.")],
    price: PriceOption = None,
    most: MostOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Rewrite labelled rows so that their labels hold by the metric's definition.

    Have them confirmed by `label --confirm` before a head is trained on them.
    """
    keep_apart({"--output": output, "--input": input_file})
    rows = _rows(metric, input_file)
    bare = next((line for line, row in enumerate(rows, start=1) if row.labels is None), None)
    if bare is not None:
        where = f"{input_file}, line {bare}, labels"
        raise BadInput("bad_input", where, "is missing; a row is rewritten to fit its labels")
    task = Rewrite(load_definition(metric))
    _run(task, rows[:most], [model], price or [], output, dry_run=dry_run)


def _rows(metric: str, path: Path) -> list[DraftRow]:
    """Read the rows; of the open sets those for training."""
    if path.is_file():
        return read_records(path, DraftRow)
    return [
        DraftRow(
            **row.input.model_dump(),
            labels=tuple(sorted(row.labels)),
            group=row.group,
            source=row.source,
        )
        for row in load(load_definition(metric).name, path).train
    ]


def _run(
    task: Task,
    rows: Sequence[DraftRow],
    models: Sequence[str],
    prices: Sequence[str],
    output: Path,
    *,
    dry_run: bool,
) -> None:
    if prices and len(prices) != len(models):
        raise typer.BadParameter("give --price once for each --model")
    specs = [parse_chat_model(text) for text in models]
    done = Done(output).read()
    left = [row for line, row in enumerate(rows, start=1) if line not in done]

    def run(on_progress: Callable[[Tally], None]) -> Tally:
        backends = [load_chat_model(spec) for spec in specs]
        info = RunInfo(
            input_sha256=hash_rows(rows),
            metric=task.definition.name,
            task=task.name,
            models=tuple(backend.name for backend in backends),
        )
        return run_task(task, rows, backends, info, output, on_progress)

    run_costed(
        len(rows),
        done.tally,
        lambda most: dict.fromkeys(
            map(calls_of, range(len(models))), estimate(task, left, most=most)
        ),
        {calls_of(place): Price.parse(text) for place, text in enumerate(prices)},
        run,
        output,
        dry_run=dry_run,
    )


if __name__ == "__main__":
    with errors_as_messages():
        app()
