"""`python -m moonlynx.eval.roc`: draws ROC curves that a run left as points, as SVG."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from moonlynx.judge.messages import errors_as_messages
from moonlynx.judge.types import MoonlynxError, Probability, first_fault

from .figures import DIAGONAL, Series, draw

_CURVES = TypeAdapter(dict[str, list[tuple[Probability, Probability]]])

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class CurvesError(MoonlynxError, ValueError):
    """A file that holds no curves."""


def draw_roc(curves: dict[str, list[tuple[float, float]]], title: str) -> str:
    """Draw curves, by name, of (false, true) positive rates.

    The area under each, by the trapezium rule, stands with its name.
    """
    series = [
        Series(f"{name} (AUROC {_area(points):.3f})", points, ()) for name, points in curves.items()
    ]
    axes = ("false positives, of all negatives", "true positives, of all positives")
    return draw(title, axes, series, DIAGONAL, "dashed: chance")


def _area(points: list[tuple[float, float]]) -> float:
    pairs = pairwise(points)
    return sum((x - before) * (y + low) / 2 for (before, low), (x, y) in pairs)


@app.command()
def command(
    input_file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, help="JSON: by name, a list of rates."),
    ],
    output: Annotated[Path, typer.Option(help="SVG file.")],
    title: Annotated[str, typer.Option(help="Stands above.")],
) -> None:
    """Draw ROC curves."""
    with errors_as_messages():
        try:
            curves = _CURVES.validate_json(input_file.read_bytes())
        except ValidationError as error:
            field, message = first_fault(error, "file")
            raise CurvesError(f"{input_file}: {field}: {message}") from None
        output.write_text(draw_roc(curves, title), encoding="utf-8")


if __name__ == "__main__":
    app()
