"""The commands that read and keep the audit: `moonlynx audit export`, `drift` and `prune`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import closing
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from moonlynx.judge.terminal.messages import Terminal, echo

if TYPE_CHECKING:
    from .database import Database
    from .drift import Estimate, Period

audit_app = typer.Typer(
    help="Read the audit of `moonlynx serve --audit`: corrections, drift.", no_args_is_help=True
)

UrlArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL", help="The database, as in sqlite:///audit.db or postgresql+psycopg://…"
    ),
]


@audit_app.command()
def export(
    url: UrlArgument,
    output: Annotated[Path, typer.Option(help="JSONL file for the labelled rows.")],
) -> None:
    """Write corrected answers as labelled rows, for `moonlynx calibrate` and the recipes.

    Only rows whose texts were stored (`--audit-texts`) can be written. Users report what seems
    wrong: ask them to confirm correct verdicts too, or a calibration on the rows is biased.
    """
    from .export import label_rows

    with _opened(url) as database:
        exported = label_rows(database.corrections())
    lines = (row.model_dump_json(exclude_defaults=True) + "\n" for row in exported.rows)
    output.write_text("".join(lines), encoding="utf-8", newline="\n")
    fails = sum(row.label == "FAIL" for row in exported.rows)
    echo(
        f"{len(exported.rows)} rows ({fails} FAIL); left out: {exported.without_text} without "
        f"stored texts, {exported.overruled} corrections that newer ones overrule",
        err=True,
    )


@audit_app.command()
def drift(
    url: UrlArgument,
    by: Annotated[Literal["day", "week"], typer.Option(help="Length of a period.")] = "day",
    format_: Annotated[
        Literal["table", "json"], typer.Option("--format", help="How to print; json: a line each.")
    ] = "table",
) -> None:
    """Print each judge's PASS rate and mean probability over time, with 95 % intervals."""
    from .drift import periods

    with _opened(url) as database:
        found = periods(database.days(), by)
    if format_ == "json":
        for period in found:
            sys.stdout.write(period.model_dump_json() + "\n")
    else:
        for name, of_judge in groupby(
            found, lambda each: f"{each.judge.name} {each.judge.version}"
        ):
            Terminal().print(_table(name, by, of_judge))


@audit_app.command()
def prune(
    url: UrlArgument,
    days: Annotated[int, typer.Option(min=0, help="Delete rows older than this many days.")],
) -> None:
    """Delete old verdicts and the feedback on them."""
    from .database import now

    with _opened(url) as database:
        echo(f"{database.prune(now() - timedelta(days=days))} verdicts deleted", err=True)


def _opened(url: str) -> closing[Database]:
    from .database import Database

    return closing(Database(url, make=False))


def _table(title: str, by: str, found: Iterable[Period]) -> Table:
    headers = (by, "verdicts", "unscored", "PASS rate", "P(hallucinated)")
    table = Table(*headers, title=title, title_justify="left")
    for period in found:
        table.add_row(
            period.start.isoformat(),
            str(period.verdicts),
            str(period.unscored),
            _shown(period.pass_rate),
            _shown(period.probability),
        )
    return table


def _shown(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    return f"{estimate.value:.3f} ({estimate.low:.3f}–{estimate.high:.3f})"
