"""`python -m moonlynx.recipes.luna2.score`: what a metric scores on labelled rows.

It takes any metric by its name: a head on a decoder, the backbone prompted as it is, a head on the
embedded encoder. So the rows of the paper's Table 2 are two runs over the same test rows.
"""

import json
from collections import Counter
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from moonlynx.judge.batch.metrics import load_metrics
from moonlynx.judge.metrics.definition import MetricDefinition
from moonlynx.judge.metrics.metric import Metric
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from .baselines import majority
from .cli import DataOption
from .data import LabelledInput, load, read_rows
from .measure import Figures, System, decide, measure, read_gold, without_nan

_BATCH = 64


class Scored(NamedTuple):
    """What a metric scores."""

    figures: Figures
    majority: Figures  # of the answer that is right most often, whatever the text
    rows: int
    sources: dict[str, int]  # rows of each source
    # rows without a verdict, by error code. They count as wrong, with an equal probability for
    # every class
    unscored: dict[str, int]


def score_metric(metric: Metric, rows: Sequence[LabelledInput]) -> Scored:
    """Run the metric over labelled rows and measure it by its own thresholds."""
    definition = metric.definition
    gold = read_gold(rows, definition)
    probabilities = np.full(gold.flags.shape, 0.5)
    unscored: Counter[str] = Counter()
    missing = []
    for start in range(0, len(rows), _BATCH):
        verdicts = metric([row.input for row in rows[start : start + _BATCH]])
        for index, verdict in enumerate(verdicts, start=start):
            if verdict.error is None:
                probabilities[index] = [verdict.labels[name] for name in definition.classes]
            else:
                unscored[verdict.error.code] += 1
                missing.append(index)
    said = decide(definition, probabilities, metric.thresholds)
    said[missing] = ~gold.flags[missing]
    return Scored(
        figures=measure(gold, (probabilities, said)),
        majority=measure(gold, _constant(rows, definition)),
        rows=len(rows),
        sources=dict(sorted(Counter(row.source for row in rows).items())),
        unscored=dict(unscored),
    )


def _constant(rows: Sequence[LabelledInput], definition: MetricDefinition) -> System:
    """Answer every row alike: the commonest class, or each label as most rows have it."""
    shares = majority(definition, rows, rows)
    commonest = np.arange(shares.shape[1]) == shares.argmax(axis=1)[:, None]  # one, of equals too
    return shares, shares > 0.5 if definition.kind == "multi-label" else commonest


app = typer.Typer()


@app.command()
def score(
    name: Annotated[str, typer.Argument(help="Of the metric, as for `moonlynx metric`.")],
    data: DataOption,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures.")] = None,
    source: Annotated[str | None, typer.Option(help="Only the rows of this source.")] = None,
    most: Annotated[int | None, typer.Option(min=1, help="Rows at most, the first ones.")] = None,
) -> None:
    """Measure a metric: AUROC, macro F1, F1 of the rare class, calibration error.

    Of the open sets, on their test rows.
    """
    metric, *others = load_metrics(name)
    if others:
        raise typer.BadParameter(f"name: one metric, not {name}")
    definition = metric.definition
    rows: Sequence[LabelledInput]
    rows = load(definition.name, data).test if data.is_dir() else read_rows(data, definition)
    if source is not None:
        sources = {row.source for row in rows}
        if source not in sources:
            known = ", ".join(sorted(sources))
            raise typer.BadParameter(f"--source: {source!r} is none of {known}")
        rows = [row for row in rows if row.source == source]
    done = score_metric(metric, rows[:most])
    for figure, (value, low, high) in done.figures.items():
        shown = "undefined" if isnan(value) else f"{value:.3f} ({low:.3f} to {high:.3f})"
        echo(f"{figure:10} {shown}")
    echo(f"{done.rows} rows, unscored: {done.unscored or 'none'}", err=True)
    if output is not None:
        found = {"metric": metric.info.model_dump(), **without_nan(done._asdict())}
        output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with errors_as_messages():
        app()
