"""Serve the page to annotators."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import BadInput, MoonlynxError

from ..records import QARow
from ..rows import read_rows
from .app import create_app
from .store import Store

LOOPBACK = ("127.0.0.1", "localhost")


class ServeError(MoonlynxError):
    """The page cannot be served at this address."""


def serve(file: Path, database: Path, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve the page until it is interrupted.

    Raises:
        BadInput: the file holds a line that is no row, no rows at all, or one that cannot be
            labelled.
        StoreError: the database is one of another file, or of something else.
        ServeError: the address cannot be used.
        MissingExtra: the packages of the extra are not installed.
    """
    try:
        import uvicorn
    except ImportError:
        raise MissingExtra("The page for annotators", "annotate") from None

    rows = read_rows_to_label(file)
    store = Store(database, file)
    app = create_app(rows, store, LOOPBACK if host in LOOPBACK else (host,))
    with closing(_listen(host, port)) as listener:
        tell(f"http://{host}:{listener.getsockname()[1]}/")
        config = uvicorn.Config(app, log_level="warning", lifespan="off")
        with suppress(KeyboardInterrupt):  # how it is stopped
            uvicorn.Server(config).run(sockets=[listener])


def read_rows_to_label(file: Path) -> list[QARow]:
    """Read rows that can be labelled.

    Raises:
        BadInput: a line is no row, there are none, two share an id, or an answer holds no text.
    """
    rows = read_rows(file)
    if not rows:
        raise BadInput("bad_input", str(file), "holds no rows")
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise BadInput("bad_input", f"{file}, id", f"two rows are called {row.id!r}")
        if not row.answer.strip():
            raise BadInput("empty_answer", f"{file}, {row.id}, answer", "holds no text to label")
        seen.add(row.id)
    return rows


def _listen(host: str, port: int) -> socket.socket:
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 (refused)
        raise ServeError(f"--host {host!r}: give the name or address that annotators will ask for")
    try:
        # What is no name comes out of this as such, and out of the next line as an OSError.
        socket.getaddrinfo(host, port, socket.AF_INET)
        return socket.create_server((host, port))
    except (socket.gaierror, UnicodeError):
        raise ServeError(f"--host {host}: there is no such name or address") from None
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ServeError(f"{host}, port {port}: {why}; choose another --host or --port") from None
