"""What commands write to a terminal; errors that the user can fix as messages."""

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console  # noqa: TID251 (here alone)
from rich.text import Text
from typer.core import TyperGroup

from ..contract.types import ExitCode, MoonlynxError
from ..contract.visible import visible

# The base of Typer's usage errors, which it does not export.
_UsageError: Any = typer.BadParameter.__mro__[2]


def echo(text: object, *, err: bool = False, nl: bool = True) -> None:
    """Write a message, or a page of Markdown, to standard output or error."""
    typer.echo(visible(str(text)), err=err, nl=nl)  # noqa: TID251


class Terminal(Console):
    """A console on which text is text: no markup, no emoji codes, controls visible."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Turn a string, as in a table's cell, into text."""
        return super().render_str(visible(text), **options)


class Group(TyperGroup):
    """A command line whose usage errors quote arguments visibly."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the arguments."""
        with _visible_usage():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _visible_usage():
            return super().invoke(ctx)


@contextmanager
def _visible_usage() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.message = visible(error.message)
        raise


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn errors into messages and exit codes: what the user can fix, and internal errors.

    A `MoonlynxError`, or a file that cannot be used, ends with USAGE; all else is an internal
    error, which ends with FAULT and a traceback to report.
    """
    code = ExitCode.USAGE
    try:
        yield
        return
    except MoonlynxError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename or 'file'}: {error.strerror or error}"
    except Exception:
        message, code = (
            f"internal error; please report it\n{traceback.format_exc()}",
            ExitCode.FAULT,
        )
    # Indented, so that no line of it looks like a message of its own.
    echo("error: " + message.rstrip().replace("\n", "\n  "), err=True)
    sys.exit(code)


@contextmanager
def resumable(how_far: Callable[[], str]) -> Iterator[None]:
    """Report on Ctrl-C how far a run came and how to resume; the command then exits with 130."""
    try:
        yield
    except KeyboardInterrupt:
        echo(f"interrupted: {how_far()}; run the same command again to resume", err=True)
        raise


def make_folder(folder: Path) -> None:
    """Create a folder where it is missing, and say so: it may be a typo."""
    if not folder.exists():
        folder.mkdir(parents=True)
        echo(f"created the folder {folder}", err=True)
