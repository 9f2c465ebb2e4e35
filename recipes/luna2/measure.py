"""What a system scores on labelled rows, with intervals from draws of whole groups.

Every kind of metric is measured in one form: a column for each class or label. Of a boolean one
both classes are columns, so its macro F1 is the mean over them, and its AUROC the same in either.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moonlynx.eval.bootstrap import Floats, draw_groups, middle
from moonlynx.eval.metrics import ECE_BINS, place_in_bins, rank
from moonlynx.judge.metrics.definition import MetricDefinition

from .data import LabelledInput

Flags = NDArray[np.bool_]
_DRAWS, _SEED = 1_000, 0
_FEW = 5  # rows of a label, below which its threshold stays at 0.5


@dataclass(frozen=True)
class Gold:
    """Rows' labels: `flags` of shape (rows, columns), and the groups that are drawn whole."""

    flags: Flags
    groups: tuple[str, ...]


def read_gold(rows: Sequence[LabelledInput], definition: MetricDefinition) -> Gold:
    """Read labels and groups off the rows."""
    return Gold(flags_of(definition, rows), tuple(row.group for row in rows))


def flags_of(definition: MetricDefinition, rows: Sequence[LabelledInput]) -> Flags:
    """Return the rows' labels, shape (rows, columns), in the order of the definition's classes."""
    return np.array([[n in row.labels for n in definition.classes] for row in rows], dtype=bool)


Figures = dict[str, tuple[float, float, float]]
"""Value, low and high of each figure: `auroc`, `f1_macro`, `f1_rare`, `ece`; NaN if undefined."""

Figure = tuple[float | None, float | None, float | None]
"""A figure as JSON holds it: value, low and high end of the 95 % interval; null if undefined."""

System = tuple[Floats, Flags]
"""P of every class, and the classes that are said to hold, both of shape (rows, columns)."""


def fit_thresholds(
    definition: MetricDefinition, gold: Flags, probabilities: Floats
) -> dict[str, float]:
    """Find the thresholds with the best F1 on validation rows.

    Of a boolean metric the best macro F1, of a label its own F1; a multi-class metric has none, and
    a label of fewer than five rows stays at 0.5.
    """
    if definition.kind == "multi-class":
        return {}
    found = {}
    for column, name in enumerate(definition.classes):
        if definition.kind == "boolean" and name != definition.positive:
            continue
        holds, p = gold[:, column], probabilities[:, column]
        if min(holds.sum(), (~holds).sum()) < _FEW:
            found[name] = 0.5
            continue
        tried = np.unique(np.quantile(p, np.linspace(0, 1, 201)))
        scores = [_f1(holds, p >= bar) for bar in tried]
        if definition.kind == "boolean":
            scores = [(s + _f1(~holds, p < bar)) / 2 for s, bar in zip(scores, tried, strict=True)]
        found[name] = round(float(tried[int(np.argmax(scores))]), 6)
    return found


def decide(
    definition: MetricDefinition, probabilities: Floats, thresholds: dict[str, float]
) -> Flags:
    """Return which classes hold, shape (rows, columns), as `MetricDefinition.decide` does."""
    names = list(definition.classes)
    said = [
        definition.decide(dict(zip(names, map(float, row), strict=True)), thresholds)
        for row in probabilities
    ]
    return np.array([[name in row for name in names] for row in said], dtype=bool)


def measure(gold: Gold, system: System) -> Figures:
    """Return every figure with its 95 % interval."""
    return _with_intervals(_under_draws(gold, system))


def gains(gold: Gold, ours: System, theirs: System) -> Figures:
    """Return how much more we score than they under the same draws, with the 95 % interval."""
    mine, other = (_under_draws(gold, each) for each in (ours, theirs))
    return _with_intervals({name: mine[name] - other[name] for name in mine})


def without_nan(found: Any) -> Any:
    """Return results as JSON holds them: what is undefined is null, since JSON has no NaN."""
    return json.loads(json.dumps(found), parse_constant=lambda _: None)


def _with_intervals(figures: dict[str, Floats]) -> Figures:
    return {name: (float(each[0]), *middle(each[1:])) for name, each in figures.items()}


def _under_draws(gold: Gold, system: System) -> dict[str, Floats]:
    """Return every figure of the rows as they are, then of each draw, shape (1 + draws,)."""
    flags, (probabilities, said) = gold.flags, system
    weights = np.concatenate([np.ones((1, len(flags))), draw_groups(gold.groups, _DRAWS, _SEED)])
    hits, said_, held = (weights @ each for each in (flags & said, said, flags))
    f1 = np.divide(2 * hits, said_ + held, out=np.zeros_like(hits), where=said_ + held > 0)
    present = flags.any(axis=0)
    counts = np.where(present, flags.sum(axis=0), len(flags) + 1)
    ranked = [
        rank(flags[:, column], probabilities[:, column], weights).auroc
        for column in np.flatnonzero(present & ~flags.all(axis=0))
    ]
    return {
        "auroc": _mean(np.array(ranked).reshape(-1, len(weights))),
        "f1_macro": f1[:, present].mean(axis=1),
        "f1_rare": f1[:, int(counts.argmin())],
        "ece": _ece(flags, probabilities, weights),
    }


def _mean(ranked: Floats) -> Floats:
    """Return the mean over the columns in which each draw has both labels; NaN without any."""
    defined = ~np.isnan(ranked)
    total, count = np.where(defined, ranked, 0.0).sum(axis=0), defined.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _ece(flags: Flags, probabilities: Floats, weights: Floats) -> Floats:
    """Return the expected calibration error over all columns, in bins of equal width."""
    bins = place_in_bins(probabilities)
    gap = probabilities - flags
    total: Floats = np.zeros(len(weights))
    for each in range(ECE_BINS):
        total += np.abs(weights @ np.where(bins == each, gap, 0.0).sum(axis=1))
    return np.asarray(total / (weights.sum(axis=1) * flags.shape[1]))


def _f1(holds: Flags, said: Flags) -> float:
    return 2 * float((holds & said).sum()) / max(1, int(holds.sum() + said.sum()))


def write_value(figure: Figure) -> str:
    """Return a figure's text with its interval."""
    value, low, high = figure
    if value is None:  # as the AUROC of rows of one class
        return "undefined"
    if low is None or high is None:
        return short(value)
    return f"{short(value)} [{short(low)}, {short(high)}]"


def short(value: float) -> str:
    """Return a share's text, without the zero before its point."""
    return f"{value:.3f}".replace("0.", ".", 1)
