"""`python -m moonlynx.recipes.raghalu`: fits the weights that ship, and writes open sentences."""

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.judges.raghalu.weights import EMBEDDED
from moonlynx.judge.terminal.messages import echo, errors_as_messages

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

DataOption = Annotated[
    Path, typer.Option(envvar="MOONLYNX_DATA", help="Folder with the labelled data.")
]

# Fitting needs numpy: it is imported where used.


@app.command()
def fit(
    data: DataOption,
    out: Annotated[Path, typer.Option(help="Folder for the weights.")] = EMBEDDED,
) -> None:
    """Fit tier 1, and threshold and probability of the judge, for the encoder of luna:mini."""
    from .fit import fit_heads

    with errors_as_messages():
        judge = fit_heads(data, out)
        echo(f"{out} holds the weights of {judge.name} {judge.version}")


@app.command()
def sentences(
    data: DataOption,
    output: Annotated[Path, typer.Option(help="JSONL file for the sentences.")],
) -> None:
    """Write the open sentences that the decoder baseline learns from."""
    from .decoder.sentences import open_sentences

    with errors_as_messages():
        found = open_sentences(data)
        lines = (one.model_dump_json() + "\n" for one in found)
        output.write_text("".join(lines), encoding="utf-8")
        echo(f"{len(found)} sentences are in {output}")


if __name__ == "__main__":
    app()
