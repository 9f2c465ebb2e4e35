"""`python -m moonlynx.recipes.raghalu`: fits the weights that ship, and measures them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.messages import echo, errors_as_messages
from moonlynx.judge.raghalu.weights import EMBEDDED

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

DataOption = Annotated[
    Path, typer.Option(envvar="MOONLYNX_DATA", help="Folder with the labelled data.")
]

# What measures brings scikit-learn: it is imported where used.


@app.command()
def fit(
    data: DataOption,
    out: Annotated[Path, typer.Option(help="Folder for the weights.")] = EMBEDDED,
) -> None:
    """Fit tier 1, and threshold and probability of the judge, for the embedded encoder."""
    from .fit import fit_heads

    with errors_as_messages():
        judge = fit_heads(data, out)
        echo(f"{out} holds the weights of {judge.name} {judge.version}")


@app.command()
def tier1(data: DataOption) -> None:
    """Print the table of tier 1's candidates."""
    from .tables import render, tier_one

    with errors_as_messages():
        echo(render(tier_one(data)))


@app.command()
def brands(
    data: DataOption,
    rows: Annotated[int, typer.Option(min=300, help="Sentences to read of each brand.")] = 400,
) -> None:
    """Print what 200 labelled sentences of a brand change, there and elsewhere."""
    from .brands import measure, render

    with errors_as_messages():
        echo(render(measure(data, rows)))


@app.command()
def tier2(
    data: DataOption,
    rows: Annotated[int, typer.Option(min=20, help="Rows to judge of each set.")] = 500,
) -> None:
    """Print what the judge finds in the paper's open sets that it was not trained on."""
    from moonlynx.judge.registry import load_judge

    from .tier2 import measure, read_sets, render

    with errors_as_messages():
        echo(render(measure(load_judge("raghalu"), read_sets(data, rows))))


@app.command()
def single(data: DataOption) -> None:
    """Print two tiers beside a single model of three labels."""
    from .single import compare, read_sentences, render

    with errors_as_messages():
        train, test = (read_sentences(data, side) for side in ("train", "validation"))
        echo(f"{len(train)} sentences to fit to, {len(test)} to measure on\n")
        echo(render(compare(train, test)))


@app.command("end-to-end")
def end_to_end(
    data: DataOption,
    rows: Annotated[int, typer.Option(min=50, help="Test answers to judge.")] = 300,
) -> None:
    """Print two tiers beside a single model of three labels, on whole answers of a test set."""
    from moonlynx.judge.registry import load_judge

    from .end_to_end import compare, draw_test, render

    with errors_as_messages():
        answers = draw_test(data, rows)
        wrong = sum(answer.example.label == "FAIL" for answer in answers)
        echo(f"{len(answers)} answers, {wrong} of them FAIL\n")
        echo(render(compare(load_judge("raghalu"), data, rows)))


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
