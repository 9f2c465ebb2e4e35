"""`python -m moonlynx.recipes.data.unseen`: the sources held back whole, as a file to evaluate on.

No mix trains or validates on them; `moonlynx eval --benchmark FILE` shows how a judge generalises.
"""

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.files.journal import to_line
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from ..runs import DataOption
from .answers import load
from .mixes import UNSEEN

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    data: DataOption,
    output: Annotated[Path, typer.Option(help="JSONL file of labelled answers.")],
) -> None:
    """Write the rows of the sources that training never sees."""
    with errors_as_messages():
        rows = [answer.example for name in UNSEEN for answer in load(name, data)]
        output.write_bytes(b"".join(map(to_line, rows)))
    echo(f"{output} holds {len(rows):,} rows of {', '.join(UNSEEN)}")


if __name__ == "__main__":
    app()
