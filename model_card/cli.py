"""The command that renders a model card: `moonlynx card`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moonlynx.judge.terminal.messages import echo

if TYPE_CHECKING:
    from huggingface_hub import ModelCard

    from moonlynx.eval.records import Report

app = typer.Typer()
_LYNX_RECORD = "trained.json"  # beside `model` in the folder of a run
_HEADS_RESULTS = "results.json"  # in the folder of a run


@app.command()
def card(
    weights: Annotated[
        Path,
        typer.Option(
            help="Luna's weights with their training.json, `model` of a run of Lynx, or Luna-2's "
            "heads on the encoder."
        ),
    ],
    run: Annotated[
        Path,
        typer.Option(
            help="Settings of the run: its YAML file, or run.json of the run's folder; of heads "
            "the run's results.json."
        ),
    ],
    output: Annotated[Path, typer.Option(help="Markdown file for the card.")],
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Folder that `moonlynx eval` wrote; not for heads. Repeatable."),
    ] = None,
) -> None:
    """Render the card of a weights folder from its training run and its evaluations."""
    # These import numpy, which other commands start without.
    from .results import read_report

    reports = [read_report(folder) for folder in report or ()]
    _renderer(weights, run)(weights, run, reports).save(output)
    echo(f"Wrote {output}")


def _renderer(weights: Path, run: Path) -> Callable[[Path, Path, Sequence[Report]], ModelCard]:
    if run.name == _HEADS_RESULTS:
        return _heads
    return _lynx if (weights.parent / _LYNX_RECORD).is_file() else _luna


def _heads(folder: Path, run: Path, reports: Sequence[Report]) -> ModelCard:
    from .heads import render_heads_card
    from .results import CardError

    if reports:
        raise CardError("the card of heads takes no --report: what was measured is in --run")
    return render_heads_card(folder, run)


def _luna(weights: Path, run: Path, reports: Sequence[Report]) -> ModelCard:
    from moonlynx.recipes.luna.record import read_record
    from moonlynx.recipes.luna.settings import Run
    from moonlynx.recipes.runs import read_run

    from .card import render_card

    return render_card(weights, read_record(weights), read_run(run, Run), reports)


def _lynx(weights: Path, run: Path, reports: Sequence[Report]) -> ModelCard:
    from moonlynx.recipes.chat.record import read_record
    from moonlynx.recipes.chat.settings import Run
    from moonlynx.recipes.runs import read_run

    from .lynx import render_lynx_card

    record = read_record(weights.parent)
    return render_lynx_card(weights, record, read_run(run, Run), reports)
