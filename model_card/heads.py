"""Renders the card of Luna-2's heads on the encoder from the run that fitted and measured them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, TypeAdapter, ValidationError

from moonlynx.eval.markdown import table
from moonlynx.judge.contract.types import first_fault
from moonlynx.judge.files.stored import MANIFEST, Manifest, load_record
from moonlynx.judge.metrics.adapter import WEAK, HeadError
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.encoder.head import EncoderHead, Shares, open_head
from moonlynx.recipes.luna2.data.licences import SETS
from moonlynx.recipes.luna2.heads import OURS, TO_BEAT
from moonlynx.recipes.luna2.measure import Figure, write_value

from .card import files_table, fill
from .results import CardError

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

TEMPLATE = Path(__file__).with_name("heads.md")
_NAME = "luna2-heads"
INDEXED = {"f1_macro": ("f1", "macro F1"), "auroc": ("roc_auc", "macro AUROC")}
"""Figures that a card's model index holds, with the Hub's word and the title."""


class Fitted(BaseModel):
    """What a run found of one metric, as far as the card tells it."""

    # training rows and test rows
    fitted: int
    rows: int
    # of each system, by name
    figures: dict[str, dict[str, Figure]]
    ships: bool  # whether the head beat what it had to
    # the head's, by which it is known
    shares: Shares
    thresholds: dict[str, float]


def render_heads_card(folder: Path, results: Path) -> ModelCard:
    """Render the card, a line for each head; `results` is the run's `results.json`.

    Raises:
        HeadError: the manifest cannot be read, or a head is not what it says.
        CardError: the results cannot be read, or are not those of the heads; names the metric.
        MissingExtra: jinja2 is not installed.
    """
    found = _read(results)
    manifest = load_record(folder / MANIFEST, Manifest, HeadError)
    heads = [open_head(folder, Path(name).stem) for name in sorted(manifest.files)]
    if not heads:
        raise CardError(f"{folder} holds no head")
    _check(heads, found)
    from huggingface_hub import ModelCard

    sets = sorted({name for head in heads for name in _shipped(head.metric)})
    text = fill(
        TEMPLATE,
        card_data=_metadata(heads, found, sets).to_yaml(),
        name=_NAME,
        encoder=heads[0].encoder,
        layers=len(heads[0].layers),
        heads_table=table(
            ["metric", "says", "macro F1", "TF-IDF", "AUROC", "TF-IDF", "holds from"],
            [_cells(head, found[head.metric]) for head in heads],
            (0, 1, 6),
        ),
        data_table=table(
            ["metric", "trained on", "rows", "test rows", "licence as stated"],
            [row for head in heads for row in _data(head.metric, found[head.metric])],
            (0, 1, 4),
        ),
        elsewhere=_elsewhere(heads),
        left_out=[metric for metric in found if metric not in {head.metric for head in heads}],
        files=files_table(folder, manifest.files),
        sets=sets,
    )
    return ModelCard(text)


def _read(path: Path) -> dict[str, Fitted]:
    try:
        return TypeAdapter(dict[str, Fitted]).validate_json(path.read_bytes())
    except OSError as error:
        raise CardError(f"cannot read {path}: {error.strerror}") from None
    except ValidationError as error:
        field, message = first_fault(error, "file")
        advice = "give results.json of the run of `moonlynx train luna2-heads`"
        raise CardError(f"{path}: {field}: {message}; {advice}") from None


def _check(heads: list[EncoderHead], found: Mapping[str, Fitted]) -> None:
    """Check each head against the results: same shares and thresholds, and worth shipping."""
    for head in heads:
        own = found.get(head.metric)
        if own is None or not own.ships:
            raise CardError(f"{head.metric}: by the run's results no head of it ships")
        if (own.shares, own.thresholds) != (head.shares, dict(head.thresholds)):
            raise CardError(f"{head.metric}: the run's results are of another head")
    if len({head.encoder for head in heads}) > 1:
        raise HeadError("the heads are of different encoders; fit them in one run")


def _cells(head: EncoderHead, found: Fitted) -> list[str]:
    definition = load_definition(head.metric)
    amount = {"boolean": "", "multi-class": "one of: ", "multi-label": "any of: "}[head.kind]
    says = amount + ", ".join(definition.classes if head.kind == "boolean" else head.outputs)
    ours, theirs = found.figures[OURS], found.figures[TO_BEAT]
    held = ", ".join(f"{name} {bar:.2f}" for name, bar in sorted(head.thresholds.items()))
    scores = [write_value(each[name]) for name in INDEXED for each in (ours, theirs)]
    return [f"`luna2:{head.metric}`", says, *scores, held or "the likeliest class"]


def _elsewhere(heads: Sequence[EncoderHead]) -> str | None:
    rows = [
        [
            f"`luna2:{head.metric}`",
            source,
            write_value(auroc),
            "do not rely on it" if auroc[0] < WEAK else "",
        ]
        for head in heads
        for source, auroc in head.elsewhere.items()
    ]
    return table(["metric", "source", "AUROC", f"under {WEAK}"], rows, (0, 1, 3)) if rows else None


def _shipped(metric: str) -> Iterator[str]:
    """Return the sets that a metric's shipped weights are fitted to."""
    return (
        name for name, each in SETS[metric].items() if each.use == "shipped" and each.folder is None
    )


def _data(metric: str, found: Fitted) -> list[list[str]]:
    counts = [f"{found.fitted:,}", f"{found.rows:,}"]
    return [[metric, name, *counts, SETS[metric][name].licence] for name in _shipped(metric)]


def _metadata(
    heads: list[EncoderHead], found: Mapping[str, Fitted], sets: list[str]
) -> ModelCardData:
    from huggingface_hub import ModelCardData

    return ModelCardData(
        language="en",
        license="apache-2.0",
        library_name="moonlynx",
        pipeline_tag="text-classification",
        tags=["guardrails", "pii", "tone", "tool-calling"],
        datasets=sets,
        metrics=[kind for kind, _ in INDEXED.values()],
        model_name=_NAME,
        eval_results=[
            each
            for head in heads
            for each in index(head.metric, _shipped(head.metric), found[head.metric].figures[OURS])
        ],
    )


def index(
    metric: str,
    sets: Iterable[str],
    figures: Mapping[str, Figure],
) -> Iterator[EvalResult]:
    """Yield a metric's figures on test rows of those sets, as the Hub's model index has them.

    One that is undefined is not in the index.
    """
    from huggingface_hub import EvalResult

    data = ", ".join(sets)
    for figure, (kind, title) in INDEXED.items():
        value = figures[figure][0]
        if value is None:
            continue
        yield EvalResult(
            task_type="text-classification",
            task_name=metric,
            dataset_type=data,
            dataset_name=data,
            dataset_split="test",
            metric_type=kind,
            metric_name=title,
            metric_value=round(value, 4),
        )
