"""The command that trains Luna's encoder."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.terminal.messages import echo

from ..log import show_log

_NEEDED = ("accelerate", "onnx", "onnxscript", "sklearn", "torch", "transformers")

DataOption = Annotated[
    Path, typer.Option(envvar="MOONLYNX_DATA", help="Folder with the labelled data.")
]
BaseOption = Annotated[
    Path | None, typer.Option(help="Folder of the encoder to start from (default: from the Hub).")
]


def add_commands(app: typer.Typer) -> None:
    """Add `luna`."""

    @app.command()
    def luna(
        recipe: Annotated[
            str,
            typer.Argument(
                help="mini (the embedded model), deberta-v3-large, modernbert-base, "
                "modernbert-large, or a YAML file like those of moonlynx/recipes/luna."
            ),
        ],
        data: DataOption,
        out: Annotated[
            Path | None,
            typer.Option(
                help="Folder for checkpoints and judge; a stopped run goes on from it "
                "(default: runs/RECIPE)."
            ),
        ] = None,
        base: BaseOption = None,
    ) -> None:
        """Train Luna's encoder, quantise it to int8, and fit threshold and probability to it."""
        if any(find_spec(name) is None for name in _NEEDED):
            raise MissingExtra("training", "train")
        # These import numpy, which the other commands start without.
        from ..data.mixes import Mix
        from ..runs import find_recipe, read_run
        from .export import export
        from .recipe import calibrate, find_base, run_recipe, training_record
        from .record import write_record
        from .settings import RECIPES, Run

        show_log()
        path = find_recipe(recipe, RECIPES)
        run = read_run(path, Run)
        out = out or Path("runs") / path.stem
        start = find_base(run, base)
        trained = run_recipe(run, data, out, start)
        if trained is None:
            return  # another of several processes finishes
        judge = out / "luna-int8"
        export(trained, judge)
        calibrate(judge, Mix(run.mix), data)
        # Without the options: they name folders of this machine and decide nothing.
        command = f"moonlynx train luna {path.stem}"
        write_record(training_record(run, out, start, recipe=path.stem, command=command), judge)
        echo(f"The judge is in {judge}. To use it: moonlynx judge --judge luna:{judge}")
