"""`moonlynx train luna2-heads`: fits heads on the encoder of luna, and measures them.

Each metric's head is measured beside the baselines on the same test rows. It ships where it
gains on TF-IDF with logistic regression: macro AUROC by an interval above 0, and macro F1 by one
that is not below. States of the encoder and finished metrics are kept in the run's
folder, so that a stopped run resumes, and one for another encoder or by another version of
the fit starts over. Remove the folder to fit to other data.
"""

import json
import logging
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from moonlynx.eval.bootstrap import Floats
from moonlynx.eval.markdown import table
from moonlynx.judge.files.atomic import written_whole
from moonlynx.judge.files.stored import MANIFEST
from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.judge.metrics.definition import MetricDefinition, load_definition
from moonlynx.judge.metrics.encoder import heads_in
from moonlynx.judge.metrics.encoder.features import FeatureReader
from moonlynx.judge.metrics.encoder.head import EncoderHead, open_head, save_heads
from moonlynx.judge.metrics.encoder.states import StateEncoder

from .baselines import BASELINES
from .data import LabelledInput, cap, load
from .features import FORMS, KeptFeatures, find_layers
from .fit_heads import VERSION, fit_head, score
from .measure import (
    Gold,
    System,
    decide,
    fit_thresholds,
    flags_of,
    gains,
    measure,
    read_gold,
    short,
    without_nan,
    write_value,
)
from .names import fit_names

PAPER = {
    "prompt_injection": 0.94,
    "context_adherence": 0.95,
    "tool_selection_quality": 0.94,
    "tone": 0.92,
    "pii": 0.89,
}
"""F1 of a 3B decoder on other rows, by Goel et al. (2025), Table 2."""

FIGURES = {
    "f1_macro": "F1 macro",
    "f1_rare": "F1 of the rare class",
    "auroc": "AUROC",
    "ece": "ECE",
}
TO_BEAT = "TF-IDF"
OURS = "head"
Probabilities = tuple[Floats, Floats]
"""P of every class of validation rows and of test rows, shape (rows, columns)."""

_log = logging.getLogger(__name__)


def run_heads(
    data: Path,
    out: Path,
    folder: Path,
    most: int | None = None,
    metrics: Sequence[str] = tuple(FORMS),
    anyway: bool = False,
) -> dict[str, Any]:
    """Fit and measure a head of each metric, and write those that ship; others' heads stay.

    With `anyway` those are written too that do not ship.
    """
    weights = open_weights(None, None)
    layers = find_layers(weights.path)
    reader = FeatureReader(StateEncoder(weights.path, layers), weights.tokenizer)
    kept = KeptFeatures(reader, layers, weights.tokenizer, out / "states")
    done = out / "-".join(map(str, [VERSION, reader.version, most or "all"]))
    done.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    there = heads_in(folder) if (folder / MANIFEST).exists() else []
    shipped = [open_head(folder, name) for name in there if name not in metrics]
    for metric in metrics:
        path = done / f"{metric}.json"
        if not path.exists():
            head, found = run_metric(metric, data, kept, most)
            content = {"found": without_nan(found), "head": head.model_dump(mode="json")}
            with written_whole(path) as draft:
                draft.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")
        content = json.loads(path.read_text(encoding="utf-8"))
        results[metric] = content["found"]
        _log.info("%s: gain %s", metric, json.dumps(results[metric]["gain"]))
        if results[metric]["ships"] or anyway:
            shipped.append(EncoderHead.model_validate_json(json.dumps(content["head"])))
        (out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (out / "tables.md").write_text(render(results), encoding="utf-8")
    save_heads(shipped, folder)  # at the end: a run that is stopped leaves the folder as it was
    return results


def run_metric(
    metric: str, data: Path, kept: KeptFeatures, most: int | None
) -> tuple[EncoderHead, dict[str, Any]]:
    """Fit and measure one head; arguments and errors as for `run_heads`."""
    definition, splits = load_definition(metric), cap(load(metric, data), most)
    training = kept.read(metric, splits.train, first=True)
    validation, test = (kept.read(metric, side) for side in (splits.validation, splits.test))
    rows, before, after = ([read.row for read in reads] for reads in (training, validation, test))
    head = fit_head(definition, kept.encoder, kept.layers, training, validation)
    if metric == "pii":
        head = head.model_copy(update={"names": fit_names(kept.reader, data)})
    ours = score(definition, head, validation), score(definition, head, test)
    both, n = [*before, *after], len(before)
    others = {name: fit(definition, rows, both) for name, fit in BASELINES.items()}
    probabilities = {OURS: ours, **{name: (p[:n], p[n:]) for name, p in others.items()}}
    found = compare(definition, before, after, probabilities)
    found |= {"removed": splits.removed, "fitted": len(training)}
    found |= {"shares": head.shares.model_dump(), "thresholds": head.thresholds}
    seen = {row.source for row in [*rows, *before]}
    return head.model_copy(update={"elsewhere": find_elsewhere(found["by_source"], seen)}), found


def find_elsewhere(by_source: Mapping[str, Any], seen: Collection[str]) -> dict[str, Any]:
    """Return our AUROC on each source that is not `seen`, where it is defined."""
    ranked = {source: each[OURS]["auroc"] for source, each in by_source.items()}
    return {s: a for s, a in ranked.items() if s not in seen and not any(map(math.isnan, a))}


def compare(
    definition: MetricDefinition,
    validation: list[LabelledInput],
    test: list[LabelledInput],
    probabilities: dict[str, Probabilities],
) -> dict[str, Any]:
    """Measure systems by P of every class on validation and test rows.

    Thresholds are fitted to validation rows. Sources that these have not are left to `by_source`:
    they show how well a head generalises.

    Returns:
        `figures` of each system, `gain` of ours on `TO_BEAT`, whether it `ships`,
        `by_source` the figures of both, and how many rows there were, of each class too.
    """
    said = {}
    for name, (before, after) in probabilities.items():
        fitted = fit_thresholds(definition, flags_of(definition, validation), before)
        said[name] = decide(definition, after, fitted)

    def of_sources(sources: set[str]) -> tuple[Gold, dict[str, System]]:
        places = [index for index, row in enumerate(test) if row.source in sources]
        gold = read_gold([test[index] for index in places], definition)
        systems = {n: (p[places], said[n][places]) for n, (_, p) in probabilities.items()}
        return gold, systems

    by_source: dict[str, Any] = {}
    for source in sorted({row.source for row in test}):
        gold, systems = of_sources({source})
        by_source[source] = {"rows": len(gold.flags)}
        for name in (OURS, TO_BEAT):
            figures = measure(gold, systems[name])
            by_source[source][name] = {each: figures[each] for each in ("auroc", "f1_macro")}
    gold, systems = of_sources({row.source for row in validation})
    gain = gains(gold, systems[OURS], systems[TO_BEAT])
    counts = {name: int(n) for name, n in zip(definition.classes, gold.flags.sum(0), strict=True)}
    return {
        "rows": len(gold.flags),
        "classes": counts,
        "figures": {name: measure(gold, system) for name, system in systems.items()},
        "gain": gain,
        "ships": gain["auroc"][1] > 0 and gain["f1_macro"][2] >= 0,
        "by_source": by_source,
    }


def render(results: Mapping[str, Any]) -> str:
    """Return a table of every metric, one of what ships, and one of the sources that have both."""
    parts = [_gains(results)]
    for metric, found in results.items():
        classes = ", ".join(f"{name} {count}" for name, count in found["classes"].items())
        rows = (
            f"{found['rows']} test rows ({classes}). All are fitted to {found['fitted']} rows; "
            f"{found['removed']} near-duplicates were removed."
        )
        figures = _figures(found["figures"], PAPER.get(metric))
        parts.append("\n\n".join([f"### {metric}", rows, figures]))
    return "\n\n".join([*parts, _sources(results)]) + "\n"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return table(header, rows, left=range(len(header)), form="tight")


def _figures(figures: Mapping[str, Any], paper: float | None) -> str:
    rows = [
        [system, *(write_value(found[name]) for name in FIGURES)]
        for system, found in figures.items()
    ]
    if paper is not None:
        rows.append(["paper, 3B decoder, other rows", f"F1 {short(paper)}", "", "", ""])
    return _table(["", *FIGURES.values()], rows)


def _gains(results: Mapping[str, Any]) -> str:
    rows = (
        [
            metric,
            *(write_value(found["gain"][name]) for name in ("auroc", "f1_macro")),
            "**yes**" if found["ships"] else "no",
        ]
        for metric, found in results.items()
    )
    return _table(["metric", "gain of the head on TF-IDF: AUROC", "F1 macro", "ships"], rows)


def _sources(results: Mapping[str, Any]) -> str:
    rows = (
        [
            metric,
            source,
            str(own["rows"]),
            *(write_value(own[name]["auroc"]) for name in (OURS, TO_BEAT)),
        ]
        for metric, found in results.items()
        for source, own in found["by_source"].items()
    )
    header = ["metric", "source", "rows", "head: AUROC", "TF-IDF: AUROC"]
    return f"### By source\n\n{_table(header, rows)}"
