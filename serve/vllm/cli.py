"""What the command line does with vLLM: start it behind a judge, and run its batch files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moonlynx.judge.batch.judging import judge_rows
from moonlynx.judge.cli.inputs import MapOption, say_notes
from moonlynx.judge.cli.judge import exit_code
from moonlynx.judge.files.atomic import keep_apart
from moonlynx.judge.rows.examples import describe, read_rows
from moonlynx.judge.rows.fields import FieldMap
from moonlynx.judge.terminal.messages import echo
from moonlynx.judge.terminal.progress import progress_bar

if TYPE_CHECKING:
    from moonlynx.judge.contract.spec import Spec

    from .engine import Engine

app = typer.Typer(help="Judge a file of rows with `vllm run-batch`.", no_args_is_help=True)

InputOption = Annotated[
    Path,
    typer.Option(
        "--input",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Rows to judge; files as for `moonlynx judge`.",
    ),
]
DeploymentOption = Annotated[
    str, typer.Option("--vllm", help="Deployment that judges: a name or a YAML file.")
]


def engine_of(
    spec: Spec | None, deployment: str | None, tensor_parallel: int | None, *, dry_run: bool
) -> tuple[Engine, Spec]:
    """Return the engine, and the judge that asks it; a dry run shows both, and ends there."""
    from .checks import check, require
    from .choose import choose, describe
    from .engine import Engine

    chosen, judge = choose(spec, deployment, tensor_parallel)
    if dry_run:
        checks = check(chosen)
        echo("\n".join([*describe(chosen), f"judge: {judge}", *map(str, checks)]))
        require(checks)
        raise typer.Exit
    return Engine(chosen), judge


@app.command()
def write(
    rows: InputOption,
    deployment_name: DeploymentOption,
    output: Annotated[Path, typer.Option(help="JSONL file for the requests.")],
    map_: MapOption = None,
) -> None:
    """Write the requests, and show the command that completes them."""
    from .deployment import read_deployment
    from .run_batch import write_requests

    keep_apart({"--output": output, "--input": rows})
    fields = FieldMap.parse(map_ or ())
    deployment = read_deployment(deployment_name)
    count = write_requests(read_rows(rows, fields), deployment.name, output)
    replies = output.with_suffix(".replies.jsonl")
    echo(f"{count} requests are in {output}; next:", err=True)
    echo(shlex.join(deployment.batch_command(output, replies)))


@app.command()
def read(
    rows: InputOption,
    deployment_name: DeploymentOption,
    replies: Annotated[Path, typer.Option(help="JSONL file that `vllm run-batch` wrote.")],
    output: Annotated[Path, typer.Option(help="JSONL file for the verdicts.")],
    map_: MapOption = None,
) -> None:
    """Write a verdict for each row, in order; a row without a reply is unscored."""
    from .deployment import read_deployment
    from .run_batch import replying_judge

    keep_apart({"--output": output, "--input": rows, "--replies": replies})
    fields = FieldMap.parse(map_ or ())
    judge = replying_judge(replies, read_deployment(deployment_name).name)
    source = describe(rows)
    run = {"input_sha256": source.sha256, "replies_sha256": describe(replies).sha256}
    run |= fields.stated()
    with progress_bar(source.rows) as on_progress:
        rows_read = read_rows(rows, fields)
        tally = judge_rows(judge, rows_read, output, run=run, on_progress=on_progress)
    say_notes(fields)
    echo(tally, err=True)
    raise typer.Exit(exit_code(tally))
