"""The command line: joins the folders' commands and turns errors into messages and exit codes."""

from __future__ import annotations

from typing import Annotated

import typer

from . import __version__
from .eval.cli import app as eval_app
from .eval.reproduce.cli import app as reproduce_app
from .halubench.cli import app as halubench_app
from .judge.cli.correct import app as correct_app
from .judge.cli.fit import app as fit_app
from .judge.cli.index import app as index_app
from .judge.cli.installed import describe_installation
from .judge.cli.judge import ENGINES
from .judge.cli.judge import app as judge_app
from .judge.cli.metric import app as metric_app
from .judge.terminal.messages import Group, echo, errors_as_messages
from .model_card.cli import app as card_app
from .recipes.cli import app as recipes_app
from .serve.cli import app as serve_app
from .serve.ray.batch import judge_on_ray

app = typer.Typer(
    name="moonlynx",
    cls=Group,
    help="Is this answer supported by the documents it was given?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
ENGINES["ray"] = judge_on_ray
for _commands in (
    judge_app,
    correct_app,
    index_app,
    fit_app,
    metric_app,
    eval_app,
    reproduce_app,
    halubench_app,
    card_app,
    recipes_app,
    serve_app,
):
    app.add_typer(_commands)


def _print_version(context: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    echo(__version__)
    if context.params["verbose"]:
        for line in describe_installation():
            echo(line)
    raise typer.Exit


@app.callback()
def _top(
    # Eager, so that it is read before --version, wherever it is written.
    verbose: Annotated[
        bool, typer.Option("--verbose", is_eager=True, help="With --version: what to report.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. Errors that the user can mend end with a message, not a traceback."""
    with errors_as_messages():
        app()


if __name__ == "__main__":
    main()
