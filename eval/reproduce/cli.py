"""The commands that set us beside the papers: `moonlynx reproduce` and `cost`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from moonlynx.judge.terminal.messages import Terminal, echo, make_folder

from ..cli import PricesOption
from ..markdown import table as markdown_table

if TYPE_CHECKING:
    from ..cost.pages import Cells

app = typer.Typer()

Format = Literal["rich", "markdown", "csv"]
FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="How to print (default: rich on a terminal, else markdown)."),
]


@app.command()
def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER[:TABLE]]",
            help="lynx, luna, luna2, raghalu or four-detectors, as in luna:2 or lynx:figure-1 "
            "(default: what there is).",
        ),
    ] = None,
    format_: FormatOption = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for reproduction.md, reproduction.csv and the figures as SVG."),
    ] = None,
) -> None:
    """Show the papers' tables beside what is measured here, and what the whole of them takes."""
    from . import pages, tables

    chosen, shown = tables.choose(name), _format(format_)
    if output is not None:
        make_folder(output / pages.FOLDER)
        for figure, svg in pages.render_figures(chosen).items():
            (output / pages.FOLDER / figure).write_text(svg, encoding="utf-8")
        (output / "reproduction.md").write_text(pages.render_page(chosen), encoding="utf-8")
        with (output / "reproduction.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(_lines(pages.figure_lines(chosen)))
        echo(f"{len(chosen)} tables and figures: {output / 'reproduction.md'}")
    elif shown == "csv":
        _print(pages.figure_lines(chosen), shown)
    elif name is None:
        _print(pages.overview(chosen), shown)
    elif shown == "markdown":
        echo(pages.render_tables(chosen))
    else:
        for one in chosen:
            _print(pages.cells_of(one), shown)
            for what, text in pages.remarks(one):
                echo(f"  {what}: {text}")


@app.command()
def cost(
    volume: Annotated[
        int, typer.Option(min=1, help="Verdicts a month; the default is ten a second, as in Luna.")
    ] = 25_920_000,
    machine: Annotated[
        str | None,
        typer.Option(help="PER_SECOND,HOUR: verdicts a second of yours, and its price an hour."),
    ] = None,
    prices: PricesOption = None,
    format_: FormatOption = None,
) -> None:
    """Show what judges cost, for a million verdicts and a month, beside the papers' figures."""
    from moonlynx.judge.decision.cost import load_prices

    from ..cost import estimate, pages

    table, every = load_prices(prices), list(estimate.measured())
    if machine is not None:
        table, own = estimate.with_yours(table, machine)
        every.insert(0, own)
    shown = _format(format_)
    _print(pages.cost_cells(every, table, volume), shown)
    _print(pages.claim_cells(table), shown)
    if shown != "csv":
        echo(pages.notes(table, volume))


def _format(given: Format | None) -> Format:
    return given or ("rich" if Terminal().is_terminal else "markdown")


def _lines(cells: Cells) -> list[tuple[str, ...]]:
    return [cells.header, *cells.rows]


def _print(cells: Cells, shown: Format) -> None:
    if shown == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows(_lines(cells))
    elif shown == "markdown":
        echo(markdown_table(cells.header, cells.rows, range(len(cells.header))) + "\n")
    else:
        table = Table(title=cells.title or None, title_justify="left")
        for column in cells.header:
            table.add_column(column, overflow="fold")
        for row in cells.rows:
            table.add_row(*row)
        Terminal().print(table)
