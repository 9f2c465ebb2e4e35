"""The command that fits RAGHalu to a brand."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.terminal.messages import echo


def add_commands(app: typer.Typer) -> None:
    """Add `raghalu`."""

    @app.command("raghalu")
    def adapt(
        data: Annotated[
            Path,
            typer.Option(
                exists=True,
                dir_okay=False,
                help="JSONL of labelled sentences: sentence, label (NO_INFO, SUPPORTED or "
                "UNSUPPORTED), context, and perhaps question and conversation. About 200.",
            ),
        ],
        out: Annotated[Path, typer.Option(help="Folder for the weights.")] = Path("runs/raghalu"),
    ) -> None:
        """Fit RAGHalu to a brand's own sentences: its two small regressions, not the encoder."""
        if find_spec("sklearn") is None:
            raise MissingExtra("training", "train")
        # These import numpy, which the other commands start without.
        from .adapt import adapt_heads
        from .brand import read_brand

        adapt_heads(read_brand(data), out)
        echo(f"The weights are in {out}. To use them: moonlynx judge --judge raghalu:{out}")
