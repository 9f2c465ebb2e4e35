"""The commands of a chat model: what those that fine-tune one share, and `export gguf`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.terminal.messages import echo

from ..runs import find_recipe, read_run
from .fitting import Fitting
from .settings import Quantised, Run

_NEEDED = ("accelerate", "datasets", "peft", "torch", "transformers", "trl")
AnyRun = TypeVar("AnyRun", bound=Run)

BaseOption = Annotated[
    str | None, typer.Option(help="Hub id or folder to start from, instead of the recipe's.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show memory and time that the run will take, and stop.")
]
TrialOption = Annotated[
    bool, typer.Option("--trial", help="The same, measured: by three steps on this machine.")
]


def open_run(recipe: str, folder: Path, kind: type[AnyRun], base: str | None) -> tuple[str, AnyRun]:
    """Read a recipe of `folder` by its name, or any by its path; return its name and settings.

    Raises:
        MissingExtra: a package that training needs is missing.
        SettingsError: there is no such recipe, or it cannot be read; names the field.
    """
    if any(find_spec(name) is None for name in _NEEDED):
        raise MissingExtra("training", "train")
    path = find_recipe(recipe, folder)
    run = read_run(path, kind)
    return path.stem, run if base is None else run.model_copy(
        update={"base": base, "revision": None}
    )


def show_plan(run: Run, fitting: Fitting, *, trial: bool) -> None:
    """Say what a run will take; with `trial`, also what it would by steps that are tried here.

    Raises:
        BaseNotUsable: the base is not available.
        NothingToTrainOn: no row is short enough to try.
        DoesNotFit: the longest rows do not fit into a GPU's memory.
    """
    from .estimate import describe

    echo(describe(run, fitting))
    if trial:
        from .trial import try_run

        echo(str(try_run(run, fitting)))


def export_gguf(
    run: Annotated[
        Path,
        typer.Argument(exists=True, file_okay=False, help="Folder of a run, or of a chat model."),
    ],
    kinds: Annotated[
        list[Quantised] | None,
        typer.Option("--type", help="How weights are quantised (default: all three). Repeatable."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder for the files (default: RUN).")
    ] = None,
) -> None:
    """Write a trained chat model as GGUF files: adapters merged, converted, quantised."""
    from .gguf import export

    for path in export(run, kinds or list(Quantised), output or run):
        size = path.stat().st_size / 1e6
        echo(f"{path}: {size:,.1f} MB. To use it: moonlynx judge --judge lynx:{path}@llamacpp")
