"""`python -m moonlynx.eval.attacks --judge NAME`: how often attacks flip a judge to PASS."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from moonlynx.judge.batch.judging import BATCH_SIZE
from moonlynx.judge.registry import load_judge
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from ..cli import BatchOption
from ..markdown import table
from ..run import verdict_file
from .suite import Flips, load_attacks, measure

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    judge: Annotated[
        list[str], typer.Option(help="Name of a judge; `moonlynx judges` lists them. Repeatable.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for the verdicts, in which a run that was stopped goes on."),
    ] = None,
    cases: Annotated[
        int | None,
        typer.Option(min=1, max=40, help="The first wrong answers alone; each meets every kind."),
    ] = None,
    batch_size: BatchOption = BATCH_SIZE,
) -> None:
    """Put attacks and harmless texts into wrong answers, and print the rates of flips to PASS."""
    with errors_as_messages(), TemporaryDirectory() as spare:
        attacks = load_attacks(cases)
        for name in judge:
            loaded = load_judge(name)
            folder = verdict_file(output or Path(spare), name).with_suffix("")
            folder.mkdir(parents=True, exist_ok=True)
            flips = measure(loaded, attacks, folder, batch_size)
            echo(f"\n`{name}` ({loaded.info.version})\n")
            echo(render(flips))


def render(groups: list[Flips]) -> str:
    """Return the counts as a Markdown table, rates in percent of the answers called FAIL."""
    header = (
        *("attacks", "called FAIL as they are", "to PASS by attack", "by harmless text"),
        *("difference, points [95 %]", "unscored"),
    )
    return table(header, [_row(flips) for flips in groups])


def _row(flips: Flips) -> list[str]:
    counts = (
        f"{count} ({count / flips.answers:.1%})" if flips.answers else "0"
        for count in (flips.attacked, flips.harmless)
    )
    found = flips.difference
    apart = "" if found is None else "{:+.1f} [{:.1f}, {:.1f}]".format(*(100 * x for x in found))
    called = f"{flips.answers} of {flips.attacks}"
    return [flips.group, called, *counts, apart, str(flips.unscored)]


if __name__ == "__main__":
    app()
