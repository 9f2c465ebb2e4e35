"""`python -m moonlynx.recipes.luna2.compare`: heads on a backbone beside what they are to beat.

The paper's Table 2 for a backbone at hand: the backbone prompted for one token, and heads trained
on it (several seeds, and fewer rows), beside the majority, TF-IDF, and what sees a text's length or
source alone, all on the same test rows. What a system said is kept in the run's folder, so a run
that is stopped goes on.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from moonlynx.judge.files import written_whole
from moonlynx.judge.luna2.definition import MetricDefinition, load_definition
from moonlynx.judge.luna2.head import Scaling, load_head_file
from moonlynx.judge.messages import echo, errors_as_messages
from moonlynx.judge.types import Record

from ..log import show_log
from .answers import Asked, ask
from .compare_report import Found, Scores, curves, measure_all, render
from .data import LabelledInput, Splits, load
from .examples import targets_of
from .fit import fit
from .floor import FLOORS
from .heads_report import write_curves
from .measure import Floats, fit_thresholds, flags_of
from .settings import Run, load_run
from .train import HEAD_FOLDER, train

PROMPTED, PROMPTED_FITTED, HEAD = "prompted", "prompted, fitted", "head"
_log = logging.getLogger(__name__)


class Plan(Record):
    """What is compared.

    Attributes:
        most: training rows of the heads and of TF-IDF, at most.
        fewer: smaller numbers of them, for a learning curve.
        seeds: of the heads on the most rows; those on fewer have the first.
        validation, tested: rows of these sides, at most.
    """

    most: int
    fewer: tuple[int, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    validation: int = 400
    tested: int = 800


def compare(definition: MetricDefinition, splits: Splits, run: Run, plan: Plan, out: Path) -> Found:
    """Train and measure all systems of one metric, going on from what `out` holds.

    Args:
        definition: of the metric.
        splits: its rows, of which the first of each side are taken.
        run: how heads are trained, with the backbone.
        plan: what is compared.
        out: folder of the metric's run.
    """
    sides = Splits(
        splits.train[: plan.most],
        splits.validation[: plan.validation],
        splits.test[: plan.tested],
        splits.removed,
    )
    out.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[], Scores]] = {
        name: partial(_floor, name, definition, sides) for name in FLOORS
    }
    makers[PROMPTED] = partial(_prompted, run.backbone, definition, sides)
    makers[PROMPTED_FITTED] = partial(_prompted, run.backbone, definition, sides, fitted=True)
    rows = len(sides.train)
    for count in sorted({n for n in plan.fewer if n < rows} | {rows}):
        for seed in plan.seeds if count == rows else plan.seeds[:1]:
            one = run.model_copy(update={"rows": count, "seed": seed})
            name = f"{HEAD}, {count} rows, seed {seed}"
            makers[name] = partial(head, one, definition, sides, out / _file(name))
    scores = {name: kept(out, name, make) for name, make in makers.items()}
    return measure_all(definition, sides, scores)


def head(run: Run, definition: MetricDefinition, sides: Splits, out: Path) -> Scores:
    """Train a head, and have it score validation and test rows."""
    started = time.monotonic()
    done = train(run, definition, sides, out)
    seconds = time.monotonic() - started
    folder = out / HEAD_FOLDER
    kept = load_head_file(folder)
    before, after = _ask_both(run.backbone, definition, sides, folder)
    return Scores(
        validation=before.chances(kept.scaling).tolist(),
        test=after.chances(kept.scaling).tolist(),
        unscaled=after.chances(Scaling()).tolist(),
        thresholds=kept.thresholds,
        unscored=_unscored(after),
        temperature=kept.scaling.temperature,
        rows=done.rows,
        seconds=round(seconds, 1),
    )


def _ask_both(
    model: str, definition: MetricDefinition, sides: Splits, folder: Path | None
) -> tuple[Asked, Asked]:
    both = ask(model, [*sides.validation, *sides.test], definition, folder)
    n = len(sides.validation)
    return both._replace(logprobs=both.logprobs[:n]), both._replace(logprobs=both.logprobs[n:])


def _prompted(
    model: str, definition: MetricDefinition, sides: Splits, *, fitted: bool = False
) -> Scores:
    """Prompt the backbone as it is; `fitted` gives it temperature, bias and thresholds."""
    before, after = _ask_both(model, definition, sides, None)
    scaling = Scaling()
    thresholds: dict[str, float] = {}
    if fitted:
        pairs = [
            (found, targets_of(row, definition))
            for found, row in zip(before.logprobs, sides.validation, strict=True)
            if found is not None
        ]
        logits, targets = (np.array(each) for each in zip(*pairs, strict=True))
        scaling, thresholds, _, _ = fit(definition, before.tokens, logits, targets)
    return Scores(
        validation=before.chances(scaling).tolist(),
        test=after.chances(scaling).tolist(),
        thresholds=thresholds,
        unscored=_unscored(after),
    )


def _unscored(asked: Asked) -> list[int]:
    return [index for index, found in enumerate(asked.logprobs) if found is None]


def _floor(name: str, definition: MetricDefinition, sides: Splits) -> Scores:
    both: Sequence[LabelledInput] = [*sides.validation, *sides.test]
    chances: Floats = FLOORS[name](definition, sides.train, both)
    n = len(sides.validation)
    gold = flags_of(definition, sides.validation)
    return Scores(
        validation=chances[:n].tolist(),
        test=chances[n:].tolist(),
        thresholds=fit_thresholds(definition, gold, chances[:n]),
        rows=len(sides.train),
    )


def kept(folder: Path, name: str, make: Callable[[], Scores]) -> Scores:
    """Read what a system said from the folder, or make it and keep it there."""
    path = folder / f"{_file(name)}.json"
    if not path.exists():
        found = make()
        with written_whole(path) as draft:
            draft.write_text(found.model_dump_json(), encoding="utf-8")
        _log.info("%s is done", path.stem)
    return Scores.model_validate_json(path.read_bytes())


def _file(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    metric: Annotated[list[str], typer.Argument(help="Names of metrics that have open sets.")],
    data: Annotated[
        Path, typer.Option(envvar="MOONLYNX_DATA", help="Folder with the labelled data.")
    ],
    recipe: Annotated[str, typer.Option(help="How heads are trained, and on what.")] = "tiny",
    backbone: Annotated[str | None, typer.Option(help="Instead of the recipe's.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("runs/luna2-compare"),
    rows: Annotated[int, typer.Option(min=200, help="Training rows at most.")] = 5_000,
    fewer: Annotated[
        list[int] | None, typer.Option(min=50, help="Fewer of them, for a learning curve.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Heads on all the rows.")] = 3,
) -> None:
    """Compare heads with the prompted backbone, TF-IDF, and what knows less."""
    show_log()
    with errors_as_messages():
        _, run = load_run(recipe, backbone)
        plan = Plan(most=rows, fewer=tuple(fewer or ()), seeds=tuple(range(seeds)))
        found: dict[str, Found] = {}
        for name in metric:
            found[name] = compare(load_definition(name), load(name, data), run, plan, out / name)
            write(found, out)
    echo((out / "tables.md").read_text(encoding="utf-8"))


def write(found: Mapping[str, Found], out: Path) -> None:
    """Write what was found: figures in `results.json`, `tables.md`, and ROC curves as points."""
    figures_only = {name: each.figures for name, each in found.items()}
    (out / "results.json").write_text(json.dumps(figures_only, indent=1) + "\n", encoding="utf-8")
    (out / "tables.md").write_text(render(found), encoding="utf-8")
    for name, each in found.items():
        write_curves(curves(each), name, out)


if __name__ == "__main__":
    app()
