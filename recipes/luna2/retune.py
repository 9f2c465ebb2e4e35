"""`python -m moonlynx.recipes.luna2.retune`: what a few new rows add to a head that is there.

A head is trained without one source, as before its kind of input came up; then it goes on with a
few hundred rows of that source (Luna-2, section 1: a head is quickly re-tuned where the domain
changes). Both are measured on the source's own test rows, beside a head of the few rows alone.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from moonlynx.judge.luna2.definition import MetricDefinition, load_definition
from moonlynx.judge.messages import echo, errors_as_messages
from moonlynx.judge.types import MoonlynxError, Record

from ..log import show_log
from .compare import head, kept
from .compare_report import Scores, system_of
from .data import Splits, load
from .measure import Figures, gains, measure, read_gold
from .settings import Run, load_run
from .train import HEAD_FOLDER

BEFORE, AGAIN, ALONE = "before", "re-tuned", "the new rows alone"
_SHARE = 4  # of the new rows one in so many is for validation


class Plan(Record):
    """How many rows there are.

    Attributes:
        rows: new ones, those for validation among them.
        most: training rows of the head before.
        validation: validation rows of the head before, at most.
    """

    rows: int = 200
    most: int = 5_000
    validation: int = 400


class NoSuchSource(MoonlynxError, ValueError):
    """A source that the metric's rows do not have."""


def retune(
    definition: MetricDefinition, splits: Splits, source: str, run: Run, plan: Plan, out: Path
) -> dict[str, Any]:
    """Train, re-tune and measure, going on from what `out` holds.

    Args:
        definition: of the metric.
        splits: its rows.
        source: beginning of the names of the sources that are new.
        run: how heads are trained; the re-tuned one takes half the learning rate.
        plan: how many rows there are.
        out: folder of the run.

    Returns:
        `figures` of the heads on the source's test rows, the `gain` of the re-tuned on both others,
        `seconds` that training took, and `rows`.

    Raises:
        NoSuchSource: no training row is of the source, or all are.
    """
    new, old = (_of(splits, source, is_new=is_new) for is_new in (True, False))
    if not new.train or not old.train:
        raise NoSuchSource(f"--source: {definition.name} has no rows of {source!r} beside others")
    test = new.test
    measured = plan.rows // _SHARE
    few = Splits(new.train[: plan.rows - measured], new.validation[:measured], test, 0)
    base = Splits(old.train[: plan.most], old.validation[: plan.validation], test, 0)
    again = run.model_copy(
        update={"head": str(out / BEFORE / HEAD_FOLDER), "learning_rate": run.learning_rate / 2}
    )
    out.mkdir(parents=True, exist_ok=True)
    scores: dict[str, Scores] = {}
    for name, settings, sides in ((BEFORE, run, base), (AGAIN, again, few), (ALONE, run, few)):
        make = partial(head, settings, definition, sides, out / name)
        scores[name] = kept(out, name, make)
    gold = read_gold(test, definition)
    systems = {name: system_of(definition, gold, each, each.test) for name, each in scores.items()}
    figures: dict[str, Figures] = {name: measure(gold, each) for name, each in systems.items()}
    return {
        "rows": {name: each.rows for name, each in scores.items()},
        "tested": len(test),
        "seconds": {name: each.seconds for name, each in scores.items()},
        "figures": figures,
        "gain": {name: gains(gold, [systems[AGAIN]], systems[name]) for name in (BEFORE, ALONE)},
    }


def _of(splits: Splits, source: str, *, is_new: bool) -> Splits:
    train, validation, test = (
        tuple(row for row in side if row.source.startswith(source) == is_new)
        for side in (splits.train, splits.validation, splits.test)
    )
    return Splits(train, validation, test, splits.removed)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    metric: Annotated[str, typer.Argument(help="Name of a metric that has open sets.")],
    source: Annotated[str, typer.Option(help="That is new; or how the names of several begin.")],
    data: Annotated[
        Path, typer.Option(envvar="MOONLYNX_DATA", help="Folder with the labelled data.")
    ],
    recipe: Annotated[str, typer.Option(help="How heads are trained, and on what.")] = "tiny",
    backbone: Annotated[str | None, typer.Option(help="Instead of the recipe's.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("runs/luna2-retune"),
    rows: Annotated[int, typer.Option(min=80, help="New rows.")] = 200,
    most: Annotated[int, typer.Option(min=200, help="Rows of the head before.")] = 5_000,
) -> None:
    """Say what a few new rows add to a head."""
    show_log()
    with errors_as_messages():
        _, run = load_run(recipe, backbone)
        plan, folder = Plan(rows=rows, most=most), out / f"{metric}-{source}"
        found = retune(load_definition(metric), load(metric, data), source, run, plan, folder)
    text = json.dumps(found, indent=1) + "\n"
    (out / f"{metric}-{source}.json").write_text(text, encoding="utf-8")
    echo(text)


if __name__ == "__main__":
    app()
