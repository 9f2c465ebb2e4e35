"""The commands that serve rows to annotators, and export and compare their labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.files.atomic import keep_apart
from moonlynx.judge.files.journal import to_line
from moonlynx.judge.terminal.messages import echo

DatabaseArgument = Annotated[
    Path,
    typer.Argument(exists=True, dir_okay=False, help="A database that `annotate` wrote."),
]


def annotate(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="A .jsonl file of rows to label.")
    ],
    database: Annotated[
        Path, typer.Option(dir_okay=False, help="SQLite file for the labels; created if missing.")
    ],
    host: Annotated[
        str, typer.Option(help="Name or address of this machine that annotators ask for.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for any that is free.")
    ] = 8002,
) -> None:
    """Serve a local web page on which people label rows: PASS or FAIL, and each sentence.

    Every row is saved as it is labelled, and each annotator resumes where they stopped. Anyone who
    reaches the page can label under any name: beyond this machine, serve it in a trusted network.
    """
    from .server import serve

    def tell(address: str) -> None:
        echo(f"Label rows at {address} (Ctrl-C ends); labels are kept in {database}")

    serve(file, database, host, port, tell)


def export(
    database: DatabaseArgument,
    file: Annotated[
        Path, typer.Option("--export", dir_okay=False, help="JSONL file for the labels.")
    ],
) -> None:
    """Write what annotators said, a line for each row and annotator."""
    from .store import Store

    keep_apart({"--export": file, "DATABASE": database})
    annotations = Store(database).annotations()
    file.write_bytes(b"".join(map(to_line, annotations)))
    echo(f"{len(annotations):,} annotations are in {file}")


def agreement(database: DatabaseArgument) -> None:
    """Print how far annotators agree: percent, Cohen's and Fleiss' kappa, with 95 % intervals."""
    from .agreement import compare_annotators
    from .store import Store

    echo(compare_annotators(Store(database).annotations()))
