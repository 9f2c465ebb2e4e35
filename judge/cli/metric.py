"""The commands that run metrics: `moonlynx metric` and `metrics`."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ..backends.gguf import is_here
from ..batch.judging import BATCH_SIZE, batches, to_line
from ..batch.metrics import (
    MetricRow,
    load_metrics,
    measure_file,
    measure_tasks,
    outcome,
    read_inputs,
    tasks_of,
)
from ..contract.types import ExitCode, MetricInput
from ..files.atomic import keep_apart
from ..metrics.adapter import WEAK, Backbone, load_head_file
from ..metrics.definition import definitions, load_definition
from ..metrics.encoder import EMBEDDED, heads_in
from ..metrics.grounded import ADHERENCE
from ..metrics.metric import Metric
from ..metrics.shipped import EXTRA, missing_packages, open_adapter
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
            help="As in luna2:tone, luna2:FOLDER@transformers, chainpoll:prompt_injection@URL; "
            "all for those without torch, each on the rows that have its fields."
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
        loaded = load_metrics(name)
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
    echo(
        f"{counts.total()} {'rows' if len(loaded) == 1 else 'verdicts'}: {listed or 'none'}",
        err=True,
    )
    unscored = counts.total() - counts["scored"]
    raise typer.Exit(ExitCode.UNSCORED if unscored else ExitCode.DONE)


@app.command()
def metrics() -> None:
    """List the metrics that are defined, what each reads, and whether it runs here."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")  # a name of a model may be longer than the window
    heads = heads_in()
    for name in definitions():
        definition = load_definition(name)
        table.add_row(name, definition.description)
        classes = ", ".join(definition.classes)
        table.add_row("", f"{definition.kind}: {classes}", style="dim")
        table.add_row("", f"reads {', '.join(definition.reads)}", style="dim")
        for line in _where(name, heads):
            table.add_row("", line)
    Terminal().print(table)


def _where(name: str, heads: Sequence[str]) -> Iterator[str]:
    """Yield where a metric runs, and how well its head ranks texts of other sources."""
    if name == ADHERENCE:
        yield f"runs here: luna2:{name}, which is the judge luna"
    elif name in heads:
        from ..metrics.encoder.head import open_head

        yield f"runs here: luna2:{name}"
        yield from _out_of_domain(open_head(EMBEDDED, name).elsewhere)
    else:
        head = load_head_file(open_adapter(name))
        yield from _needs(name, head.backbone)
        yield from _out_of_domain(head.elsewhere)


def _needs(name: str, backbone: Backbone) -> Iterator[str]:
    """Yield what an adapter still needs here, and by which name it runs."""
    missing = missing_packages()
    if missing:
        yield (
            f"does not run here yet: its adapter ships, and {', '.join(missing)} are missing: "
            f"pip install 'moonlynx[{EXTRA}]', then luna2:{name}"
        )
    else:
        yield f"runs here: luna2:{name}, an adapter"
    if not is_here(backbone.name):
        size = f" ({backbone.size / 1e6:,.0f} MB)" if backbone.size else ""
        yield f"its backbone {backbone.name}{size} is downloaded when it is first used"


def _out_of_domain(elsewhere: Mapping[str, tuple[float, float, float]]) -> Iterator[str]:
    for source, (auroc, low, high) in elsewhere.items():
        weak = "; do not rely on it in texts unlike its own" if auroc < WEAK else ""
        yield f"AUROC out of domain ({source}): {auroc:.2f} [{low:.2f}, {high:.2f}]{weak}"


def _print_verdicts(
    loaded: Sequence[Metric], rows: Iterator[MetricRow], batch_size: int
) -> Counter[str]:
    counts: Counter[str] = Counter()
    for batch in batches(tasks_of(loaded, rows), batch_size):
        for verdict in measure_tasks(batch):
            counts[outcome(verdict)] += 1
            sys.stdout.write(to_line(verdict).decode("utf-8"))
        sys.stdout.flush()
    return counts
