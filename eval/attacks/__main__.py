"""`python -m moonlynx.eval.attacks --judge NAME`: how often attacks flip a judge to PASS."""

from typing import Annotated

import typer

from moonlynx.judge.registry import load_judge
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from ..markdown import table
from .suite import Flips, load_attacks, measure

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    judge: Annotated[
        list[str], typer.Option(help="Name of a judge; `moonlynx judges` lists them. Repeatable.")
    ],
) -> None:
    """Put attacks and harmless texts into wrong answers, and print the rates of flips to PASS."""
    with errors_as_messages():
        attacks = load_attacks()
        for name in judge:
            loaded = load_judge(name)
            echo(f"\n`{name}` ({loaded.info.version})\n")
            echo(render(measure(loaded, attacks)))


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
