"""The commands that train Luna-2: `moonlynx train luna2` and `moonlynx train luna2-heads`."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.terminal.messages import echo

from ..runs import find_recipe, read_run, show_log

_NEEDED = ("accelerate", "peft", "torch", "transformers", "yaml")

MetricArgument = Annotated[
    str, typer.Argument(help="Name of a metric that ships, or a YAML file that defines one.")
]
DataOption = Annotated[
    Path,
    typer.Option(
        exists=True,
        envvar="MOONLYNX_DATA",
        help="JSONL of labelled inputs, or the folder with the open sets.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(help="Folder of the run; a stopped one resumes from it (default: runs/...)."),
]


def add_commands(app: typer.Typer) -> None:
    """Add `luna2 METRIC` and `luna2-heads`."""
    app.command("luna2")(_train_head)
    app.command("luna2-heads")(_fit_heads)


def _train_head(
    metric: MetricArgument,
    data: DataOption,
    recipe: Annotated[
        str, typer.Option(help="One of moonlynx/recipes/luna2 by name, or a YAML file like them.")
    ] = "llama-3.2-3b",
    backbone: Annotated[
        str | None, typer.Option(help="Hub id, folder or GGUF file, instead of the recipe's.")
    ] = None,
    head: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="A head to continue training, with new rows."
        ),
    ] = None,
    out: OutOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show rows, tokens and steps of the run, and stop.")
    ] = False,
) -> None:
    """Train a head of Luna-2: an adapter that answers for one metric with one token."""
    _start()
    from moonlynx.judge.metrics.definition import load_definition

    from .data import cap, load, read_rows, split
    from .data.rows import Placed
    from .settings import RECIPES, Run
    from .train import HEAD_FOLDER, plan, train

    definition = load_definition(metric)
    path = find_recipe(recipe, RECIPES)
    run = read_run(path, Run)
    if backbone is not None:
        run = run.model_copy(update={"backbone": backbone})
    if head is not None:
        run = run.model_copy(update={"head": str(head)})
    if data.is_dir():
        splits = load(definition.name, data)
    else:
        splits = split((Placed(row) for row in read_rows(data, definition)), run.seed)
    splits = cap(splits, run.rows)
    if dry_run:
        for line in plan(run, definition, splits):
            echo(line)
        return
    name = f"luna2-{definition.name}-{path.stem}{'-again' if head is not None else ''}"
    out = out or Path("runs") / name
    done = train(run, definition, splits, out)
    fitted = "" if done.fitted_after is not None else "; too few validation rows to fit to"
    echo(
        f"{done.steps} steps over {done.rows} rows ({done.too_long} too long, {done.blank} blank), "
        f"loss {done.losses[0]:.3f} to {done.losses[-1]:.3f}{fitted}. The head is in "
        f"{out / HEAD_FOLDER}. To use it: moonlynx metric luna2:{out / HEAD_FOLDER} --input FILE"
    )


def _fit_heads(
    data: Annotated[
        Path,
        typer.Option(exists=True, envvar="MOONLYNX_DATA", help="Folder with the open sets."),
    ],
    folder: Annotated[
        Path | None,
        typer.Option(help="For the heads (default: where `luna2:METRIC` looks for them)."),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=200, help="Training and test rows at most (default: all).")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this metric's head; others stay. Repeatable."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Write those too that do not beat TF-IDF.")
    ] = False,
    out: OutOption = None,
) -> None:
    """Fit heads on the encoder of luna, and write those that beat TF-IDF beyond chance."""
    _start(("onnx", "sklearn"))
    from moonlynx.judge.files.atomic import held
    from moonlynx.judge.metrics.encoder import EMBEDDED, heads_in

    from .features import FORMS
    from .heads import run_heads

    if unknown := set(metric or ()) - FORMS.keys():
        raise typer.BadParameter(f"--metric: {min(unknown)} has no head; known: {', '.join(FORMS)}")
    out, folder = out or Path("runs") / "luna2-heads", folder or EMBEDDED
    with held(out / "results.json"):
        found = run_heads(data, out, folder, rows, tuple(metric or FORMS), anyway)
    held_back = [name for name, each in found.items() if not each["ships"] and not anyway]
    echo(
        f"{folder} holds heads of {', '.join(heads_in(folder)) or 'no metric'}; see {out}/tables.md"
    )
    if held_back:
        echo(
            f"not written, as no better than words beyond chance: {', '.join(held_back)}; "
            "to have them all the same: --anyway"
        )


def _start(needed: Sequence[str] = _NEEDED) -> None:
    if any(find_spec(name) is None for name in needed):
        raise MissingExtra("training", "train")
    show_log()
