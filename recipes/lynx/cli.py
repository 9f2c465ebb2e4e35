"""The commands that fine-tune Lynx: one for each bundled run, and one for a YAML file."""

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.terminal.messages import echo

from ..chat.command import BaseOption, DryRunOption, TrialOption, open_run, show_plan
from ..runs import show_log
from .settings import LynxRun

_FOLDER = Path(__file__).parent

RowsOption = Annotated[
    Path,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="JSONL of rows that `halubench trace` wrote, or `build` where the reply is a score.",
    ),
]
ValidationOption = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, help="The same, to measure the loss on after each epoch."
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(help="Folder of the run, from which a stopped one resumes (default: runs/NAME)."),
]
TrackerOption = Annotated[
    str, typer.Option(metavar="none|tensorboard|wandb", help="Where losses are reported as well.")
]


def add_commands(app: typer.Typer) -> None:
    """Add `lynx FILE.yaml`, and a command for each bundled run by its name."""
    app.command("lynx")(_train)
    for path in sorted(_FOLDER.glob("*.yaml")):
        what = f"Fine-tune a chat model into a judge that reasons: {path.stem}."
        app.command(path.stem, help=what)(_train_bundled)


def _train_bundled(
    context: typer.Context,
    rows: RowsOption,
    validation: ValidationOption = None,
    out: OutOption = None,
    base: BaseOption = None,
    dry_run: DryRunOption = False,
    trial: TrialOption = False,
    log_to: TrackerOption = "none",
) -> None:
    _train(str(context.info_name), rows, validation, out, base, dry_run, trial, log_to)


def _train(
    recipe: Annotated[str, typer.Argument(help="A YAML file like those of recipes/lynx.")],
    rows: RowsOption,
    validation: ValidationOption = None,
    out: OutOption = None,
    base: BaseOption = None,
    dry_run: DryRunOption = False,
    trial: TrialOption = False,
    log_to: TrackerOption = "none",
) -> None:
    """Fine-tune a chat model into a judge that reasons, from a YAML file."""
    name, run = open_run(recipe, _FOLDER, LynxRun, base)
    # These import torch, which the other commands start without.
    from moonlynx.halubench.records import read_rows

    from ..chat.model import load_tokenizer
    from ..chat.sft import MODEL, TRACKERS
    from .chats import fit
    from .sft import train

    if log_to not in TRACKERS:
        raise typer.BadParameter(
            f"{log_to!r} is none of {', '.join(TRACKERS)}", param_hint="log-to"
        )
    trained_on = read_rows(rows)
    if dry_run or trial:
        show_plan(run, fit(trained_on, run, load_tokenizer(run)), trial=trial)
        return
    show_log()
    out = out or Path("runs") / name
    measured = read_rows(validation) if validation is not None else []
    done = train(run, trained_on, measured, out, log_to)
    echo(
        f"{done.steps} steps over {done.rows} rows ({done.too_long} too long), loss "
        f"{done.losses[0]:.3f} to {done.losses[-1]:.3f}. The model is in {out / MODEL}."
    )
