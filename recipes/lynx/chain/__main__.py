"""`python -m moonlynx.recipes.lynx.chain`: the steps of `run_all.sh` that are no command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.halubench.rows import read_rows, write_rows
from moonlynx.judge.files.atomic import written_whole
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from .report import JUDGED_FILE, LEARNED_FILE, SHUFFLED_FILE, build_report, render, write_report
from .rows import LEARNED, UNSEEN, choose_shortest, exchange_targets, to_example

_PASSAGES = 200

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
OutputOption = Annotated[Path, typer.Option(file_okay=False, help="Folder that is written.")]
FileArgument = Annotated[Path, typer.Argument(exists=True, dir_okay=False)]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of every draw.")]


@app.command()
def passages(output: OutputOption, seed: SeedOption = 0) -> None:
    """Write synthetic passages and questions, for where no data is available."""
    from .passages import write_passages

    write_passages(output, _PASSAGES, seed)


@app.command()
def rows(
    traced: FileArgument,
    test: FileArgument,
    output: OutputOption,
    count: Annotated[
        int, typer.Option(min=8, help="Rows to learn by heart, a multiple of 8.")
    ] = 64,
    seed: SeedOption = 0,
) -> None:
    """Choose short rows to learn by heart, shuffle the labels of half, add unseen ones to judge."""
    if count % 8:
        raise typer.BadParameter(f"{count} is no multiple of 8", param_hint="--count")
    learned = choose_shortest(read_rows(traced), count, str(traced))
    unseen = choose_shortest(read_rows(test), count // 4, str(test))
    examples = [
        *(to_example(row, LEARNED) for row in learned),
        *(to_example(row, UNSEEN) for row in unseen),
    ]
    output.mkdir(parents=True, exist_ok=True)
    write_rows(output / LEARNED_FILE, learned)
    write_rows(output / SHUFFLED_FILE, exchange_targets(learned, seed))
    lines = (example.model_dump_json(exclude_defaults=True) + "\n" for example in examples)
    with written_whole(output / JUDGED_FILE) as draft:  # last
        draft.write_text("".join(lines), encoding="utf-8")


@app.command()
def base(learned: FileArgument, output: OutputOption, seed: SeedOption = 0) -> None:
    """Write a Llama of random weights, with a tokenizer learned from the rows."""
    from .tiny_base import build_base

    weights = build_base(read_rows(learned), output, seed)
    echo(f"{output}: a Llama of {weights / 1e6:.1f} million random weights")


@app.command()
def report(folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)]) -> None:
    """Write what the chain showed; end with 1 where it did not show what it is to."""
    built = build_report(folder)
    write_report(built, folder)
    echo(render(built))
    if not all(check.met for check in built.checks):
        raise typer.Exit(1)


if __name__ == "__main__":
    with errors_as_messages():
        app()
