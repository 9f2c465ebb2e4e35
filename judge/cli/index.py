"""The command `moonlynx index`."""

from pathlib import Path
from typing import Annotated

import typer

from ..terminal.messages import echo

app = typer.Typer()


@app.command()
def index(
    documents: Annotated[
        Path,
        typer.Argument(
            metavar="DOCS",
            exists=True,
            help="A text file, or a folder with text files, however deep.",
        ),
    ],
    output: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents that DOCS does not have.")
    ] = False,
) -> None:
    """Index documents once, for `moonlynx judge --index DIR` and `moonlynx serve --index DIR`.

    Adds to an index that is there; a document whose text has changed is replaced.
    """
    # The index imports numpy, which the other commands start without.
    from ..index.store import read_documents, update

    changes = update(output, read_documents(documents), prune=prune)
    echo(", ".join(f"{count} {what}" for what, count in changes._asdict().items()))
