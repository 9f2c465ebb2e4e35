"""Renders the card of a Luna-2 adapter from its run, and from what `score` found of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from moonlynx.eval.markdown import table
from moonlynx.judge.backends.hub import repository
from moonlynx.judge.files.stored import load_record, sha256_file
from moonlynx.judge.metrics.adapter import WEAK, Head, load_head_file
from moonlynx.recipes.luna2.data.licences import SETS
from moonlynx.recipes.luna2.measure import Figure, write_value
from moonlynx.recipes.luna2.settings import Run

from .card import files_table, fill
from .heads import INDEXED, index
from .lynx import licence_of
from .release import CARD
from .results import CardError

if TYPE_CHECKING:
    from huggingface_hub import ModelCard, ModelCardData

TEMPLATE = Path(__file__).with_name("adapter.md")
_TRAINED, _SCORED = "trained.json", "scored"
_ANEW = "train or score anew"
_SHOWN = {"auroc": "AUROC", "f1_macro": "macro F1", "f1_rare": "F1 of the rarer", "ece": "ECE"}


class Claimed(BaseModel):
    """What a run's `run.json` says, as far as the card tells it."""

    run: Run


class Trained(BaseModel):
    """What its `trained.json` says, likewise."""

    rows: int
    validation: int
    sources: dict[str, int]
    sets: tuple[str, ...]
    too_long: int
    trained_weights: int
    steps: int
    seconds: float
    validation_losses: list[float]


class Judged(BaseModel):
    """The metric that was measured."""

    version: str


class Scored(BaseModel):
    """What `moonlynx.recipes.luna2.score` wrote into a `scored*.json`, likewise."""

    metric: Judged
    figures: dict[str, Figure]
    majority: dict[str, Figure]
    rows: int
    sources: dict[str, int]


def render_adapter_card(folder: Path, run: Path) -> ModelCard:
    """Render the card of an adapter's folder.

    Args:
        folder: of the head.
        run: `run.json` of its run. Beside it are `trained.json` and what `score` wrote:
            `scored.json` of the test rows, `scored-NAME.json` of others.

    Raises:
        HeadError: the folder holds no head.
        CardError: a file cannot be read, or is of another adapter; names it.
        MissingExtra: jinja2 is not installed.
    """
    head = load_head_file(folder)
    settings = load_record(run, Claimed, CardError, _ANEW).run
    trained = load_record(run.with_name(_TRAINED), Trained, CardError, _ANEW)
    scored = {
        path.stem.removeprefix(_SCORED).lstrip("-") or "test": load_record(
            path, Scored, CardError, _ANEW
        )
        for path in sorted(run.parent.glob(f"{_SCORED}*.json"))
    }
    _check(head, scored, run.parent)
    from huggingface_hub import ModelCard

    base = repository(head.backbone.name)
    paths = [path for path in sorted(folder.iterdir()) if path.name != CARD]
    text = fill(
        TEMPLATE,
        card_data=_metadata(head, base, trained, scored["test"]).to_yaml(),
        metric=head.definition.name,
        description=head.definition.description,
        classes=", ".join(head.definition.classes),
        reads=", ".join(head.definition.reads),
        thresholds=head.thresholds,
        backbone=head.backbone.name,
        fingerprint=head.backbone.sha256,
        base_licence=licence_of(base) or "not known here, to be looked up where the base is from",
        run=settings,
        trained=trained,
        results_table=_results(scored),
        weak=[
            name
            for name, each in scored.items()
            if name != "test" and (found := each.figures["auroc"][0]) is not None and found < WEAK
        ],
        sources=", ".join(f"{name} {rows:,}" for name, rows in trained.sources.items()),
        data_table=_data(head.definition.name, trained.sets),
        files=files_table(folder, {path.name: sha256_file(path) for path in paths}),
    )
    return ModelCard(text)


def _check(head: Head, scored: Mapping[str, Scored], folder: Path) -> None:
    """Require the figures of test rows, and all of this adapter."""
    if "test" not in scored:
        raise CardError(
            f"{folder} holds no {_SCORED}.json; write it: python -m moonlynx.recipes.luna2.score "
            f"luna2:FOLDER --data DATA --output {folder / _SCORED}.json"
        )
    for name, each in scored.items():
        if not each.metric.version.startswith(head.version):
            raise CardError(
                f"{_SCORED}: {name} was measured of {each.metric.version}, and the adapter is "
                f"{head.version}; score anew"
            )


def _results(scored: Mapping[str, Scored]) -> str:
    rows = [
        [name, who, f"{each.rows:,}", *(write_value(figures[figure]) for figure in _SHOWN)]
        for name, each in sorted(scored.items(), key=lambda item: item[0] != "test")
        for who, figures in (("adapter", each.figures), ("majority", each.majority))
    ]
    return table(["rows of", "by", "rows", *_SHOWN.values()], rows, (0, 1))


def _data(metric: str, sets: Sequence[str]) -> str | None:
    rows = [[name, SETS[metric][name].licence] for name in sets]
    return table(["set", "licence as stated"], rows, (0, 1)) if rows else None


def _metadata(head: Head, base: str, trained: Trained, test: Scored) -> ModelCardData:
    from huggingface_hub import ModelCardData

    known = licence_of(base)
    return ModelCardData(
        language="en",
        license="apache-2.0" if known == "Apache-2.0" else "other",
        license_name=None if known == "Apache-2.0" else (known or "that of the base"),
        library_name="peft",
        pipeline_tag="text-classification",
        tags=["guardrails", "moonlynx"],
        base_model=base,
        datasets=list(trained.sets or trained.sources),
        metrics=[kind for kind, _ in INDEXED.values()],
        model_name=f"luna2-{head.definition.name}",
        eval_results=list(index(head.definition.name, test.sources, test.figures)),
    )
