"""The command that trains Luna's encoder."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.terminal.messages import echo

from ..runs import DataOption, show_log

_NEEDED = ("accelerate", "onnx", "onnxscript", "sklearn", "torch", "transformers")


def add_commands(app: typer.Typer) -> None:
    """Add `luna`."""
    app.command("luna")(train_luna)


def train_luna(
    recipe: Annotated[
        str,
        typer.Argument(
            help="base (the default judge, 109M), mini (luna:mini, 22M), deberta-v3-large, "
            "modernbert-base, modernbert-large, or a YAML file like those of moonlynx/recipes/luna."
        ),
    ],
    data: DataOption,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for checkpoints and judge, from which a stopped run resumes "
            "(default: runs/RECIPE)."
        ),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(help="Folder of the encoder to start from (default: from the Hub)."),
    ] = None,
) -> None:
    """Train Luna's encoder, quantise it, and fit threshold and probability to it."""
    if any(find_spec(name) is None for name in _NEEDED):
        raise MissingExtra("training", "train")
    # These import numpy, which the other commands start without.
    from ..runs import find_recipe, read_run
    from .recipe import run_recipe
    from .settings import RECIPES, Run

    show_log()
    path = find_recipe(recipe, RECIPES)
    run = read_run(path, Run)
    judge = run_recipe(path.stem, run, data, out or Path("runs") / path.stem, base)
    if judge is not None:  # else another of several processes finishes
        echo(f"The judge is in {judge}. To use it: moonlynx judge --judge luna:{judge}")
