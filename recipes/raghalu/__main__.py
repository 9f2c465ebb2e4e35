"""`python -m moonlynx.recipes.raghalu`: fits the weights that ship."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.judges.raghalu.weights import EMBEDDED
from moonlynx.judge.terminal.messages import echo, errors_as_messages

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def _commands() -> None:
    """Fit what ships of RAGHalu."""


@app.command()
def fit(
    data: Annotated[
        Path, typer.Option(envvar="MOONLYNX_DATA", help="Folder with the labelled data.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the weights.")] = EMBEDDED,
) -> None:
    """Fit tier 1, and threshold and probability of the judge, for the encoder of luna:mini."""
    from .fit import fit_heads  # imports numpy

    with errors_as_messages():
        judge = fit_heads(data, out)
        echo(f"{out} holds the weights of {judge.name} {judge.version}")


if __name__ == "__main__":
    app()
