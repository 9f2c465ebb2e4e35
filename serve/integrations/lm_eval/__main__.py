"""Print the folder that `lm_eval --include_path` takes."""

from pathlib import Path

import typer

typer.echo(Path(__file__).resolve().parent)
