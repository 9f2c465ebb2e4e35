"""The command that renders a model card: `moonlynx card`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def card(
    weights: Annotated[Path, typer.Option(help="Weights folder with its training.json.")],
    run: Annotated[Path, typer.Option(help="YAML file of the run that trained the weights.")],
    report: Annotated[
        list[Path], typer.Option(help="Folder that `moonlynx eval` wrote. Repeatable.")
    ],
    output: Annotated[Path, typer.Option(help="Markdown file for the card.")],
) -> None:
    """Render the card of a weights folder from its training run and its evaluations."""
    # These bring numpy, which other commands start without.
    from moonlynx.recipes.luna.record import read_record
    from moonlynx.recipes.luna.settings import Run
    from moonlynx.recipes.runs import read_run

    from .card import render_card
    from .results import read_report

    reports = [read_report(folder) for folder in report]
    render_card(weights, read_record(weights), read_run(run, Run), reports).save(output)
    typer.echo(f"Wrote {output}")
