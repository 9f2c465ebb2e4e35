"""How every command ends that meets an error which the user can mend: a message, no traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from .types import ExitCode, MoonlynxError


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn a `MoonlynxError`, or a file that cannot be used, into a message and exit code 2."""
    try:
        yield
    except MoonlynxError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename or 'file'}: {error.strerror or error}"
    else:
        return
    typer.echo(f"error: {message}", err=True)
    sys.exit(ExitCode.USAGE)
