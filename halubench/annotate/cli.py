"""The commands that ask annotators for labels, and compare them."""

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.files.atomic import keep_apart
from moonlynx.judge.terminal.messages import echo, resumable


def annotate(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="A .jsonl file of rows to label.")
    ],
    annotator: Annotated[str, typer.Option(help="Name of who labels.")],
    output: Annotated[
        Path, typer.Option(dir_okay=False, help="JSONL file for the labels; a session resumes.")
    ],
) -> None:
    """Label rows on the terminal: each sentence, the answer, then what the row says of itself.

    Every row is saved as it is labelled; run the same command again to go on.
    """
    from .session import label_rows

    keep_apart({"FILE": file, "--output": output})
    with resumable(lambda: f"labels are kept in {output}"):
        try:
            label_rows(file, annotator, output)
        except EOFError:  # Ctrl-D
            raise KeyboardInterrupt from None
    echo(f"all rows are labelled; the labels are in {output}")


def agreement(
    files: Annotated[
        list[Path],
        typer.Argument(exists=True, dir_okay=False, help="Files that `annotate` wrote."),
    ],
) -> None:
    """Print how far annotators agree: percent, Cohen's and Fleiss' kappa, with 95 % intervals."""
    from .agreement import compare_annotators
    from .session import read_annotations

    echo(compare_annotators(read_annotations(files)))
