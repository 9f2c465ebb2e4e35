"""`python -m moonlynx.recipes.raghalu`: fits the weights that ship, and writes open sentences."""

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.files.journal import read_records, to_line
from moonlynx.judge.judges.raghalu.weights import EMBEDDED
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from ..runs import DataOption

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

# Fitting needs numpy: it is imported where used.


@app.command()
def fit(
    data: DataOption,
    out: Annotated[Path, typer.Option(help="Folder for the weights.")] = EMBEDDED,
) -> None:
    """Fit tier 1, and threshold and probability of the judge, for the encoder of luna."""
    from .fit import fit_heads

    with errors_as_messages():
        judge = fit_heads(data, out)
        echo(f"{out} holds the weights of {judge.name} {judge.version}")


@app.command()
def sentences(
    data: DataOption,
    output: Annotated[Path, typer.Option(help="JSONL file for the sentences.")],
    dolly: Annotated[
        bool, typer.Option("--dolly", help="Add Dolly's closed questions, from the Hub.")
    ] = False,
    articles: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Add TruthfulQA, from the Hub: JSONL of the articles that its questions are "
            "about, each with `source` (the set's address of it) and `text`.",
        ),
    ] = None,
) -> None:
    """Write the open sentences that the encoders and the decoder baseline learn from."""
    from .decoder.sentences import open_sentences
    from .public import read_dolly, read_truthful_qa

    with errors_as_messages():
        found = open_sentences(data)
        found += read_dolly() if dolly else ()
        found += read_truthful_qa(articles) if articles else ()
        lines = (one.model_dump_json() + "\n" for one in found)
        output.write_text("".join(lines), encoding="utf-8")
        echo(f"{len(found)} sentences are in {output}")


@app.command()
def rows(
    sentences: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="Labelled sentences, open or own.")
    ],
    output: Annotated[Path, typer.Option(help="JSONL file for the rows.")],
    tier: Annotated[int, typer.Option(min=1, max=2, help="Which encoder is to read them.")] = 2,
) -> None:
    """Write labelled sentences as rows that a stage of `moonlynx train luna` reads (`labelled`)."""
    from .brand import BrandSentence, rows_of

    with errors_as_messages():
        found = list(rows_of(read_records(sentences, BrandSentence), tier))
        output.write_bytes(b"".join(map(to_line, found)))
        echo(f"{len(found)} rows are in {output}")


if __name__ == "__main__":
    app()
