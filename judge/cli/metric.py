"""The commands that run metrics: `moonlynx metric` and `metrics`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ..batch.judging import BATCH_SIZE, batches, to_line
from ..batch.metrics import MetricRow, measure_file, measure_rows, outcome, read_inputs
from ..contract.types import ExitCode, MetricInput
from ..files.atomic import keep_apart
from ..metrics.definition import definitions, load_definition
from ..metrics.loading import load_metric
from ..metrics.metric import Metric
from ..rows.examples import describe
from ..rows.fields import FieldMap
from ..rows.formats import kept
from ..terminal.messages import Terminal, echo, make_folder, resumable
from .inputs import FILES_HELP, MapOption, check_rows, say_notes

app = typer.Typer()


@app.command()
def metric(
    name: Annotated[
        str,
        typer.Argument(
            help="As in luna2:toxicity, luna2:FOLDER@transformers, or "
            "chainpoll:prompt_injection@URL."
        ),
    ],
    input_file: Annotated[
        Path,
        typer.Option(
            "--input", metavar="FILE", exists=True, dir_okay=False, allow_dash=True, help=FILES_HELP
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(help="JSONL file for the verdicts; an interrupted run resumes."),
    ] = None,
    map_: MapOption = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows judged at once.")] = BATCH_SIZE,
) -> None:
    """Judge inputs by a metric, such as tone, toxicity or tool selection."""
    keep_apart({"--output": output, "--input": input_file})
    fields = FieldMap.parse(map_ or (), MetricInput)
    with kept(input_file) as path:
        source = describe(path)
        check_rows(source.rows, input_file)
        loaded = load_metric(name)
        if output is None:
            counts = _print_verdicts(loaded, read_inputs(path, fields), batch_size)
        else:
            make_folder(output.parent)
            with resumable(lambda: f"what is done of {source.rows:,} rows is in {output}"):
                counts = measure_file(
                    loaded, path, output, sha256=source.sha256, batch_size=batch_size, fields=fields
                )
    say_notes(fields)
    listed = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    echo(f"{counts.total()} rows: {listed or 'none'}", err=True)
    unscored = counts.total() - counts["scored"]
    raise typer.Exit(ExitCode.UNSCORED if unscored else ExitCode.DONE)


@app.command()
def metrics() -> None:
    """List the metrics that are defined, and what each reads."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name in definitions():
        definition = load_definition(name)
        table.add_row(name, definition.description)
        classes = ", ".join(definition.classes)
        table.add_row("", f"{definition.kind}: {classes}", style="dim")
        table.add_row("", f"reads {', '.join(definition.reads)}", style="dim")
    Terminal().print(table)


def _print_verdicts(loaded: Metric, rows: Iterator[MetricRow], batch_size: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for batch in batches(rows, batch_size):
        for verdict in measure_rows(loaded, batch):
            counts[outcome(verdict)] += 1
            sys.stdout.write(to_line(verdict).decode("utf-8"))
        sys.stdout.flush()
    return counts
