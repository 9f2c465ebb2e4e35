"""Renders the card of a weights folder from its training run and the reports on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from moonlynx.eval.markdown import table
from moonlynx.eval.records import Report
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.spec import JudgeSpec
from moonlynx.judge.contract.types import Example
from moonlynx.judge.decision.calibration import Calibration, load_calibration
from moonlynx.judge.files.stored import MANIFEST, Manifest, load_record
from moonlynx.judge.judges.luna.config import LunaConfig, LunaError
from moonlynx.judge.judges.luna.weights import EMBEDDED, WEIGHTS, open_weights
from moonlynx.judge.registry import find_factory
from moonlynx.recipes.luna.record import TrainingRecord
from moonlynx.recipes.luna.settings import Run

from . import results, training
from .results import CardError, Measured

if TYPE_CHECKING:
    from huggingface_hub import ModelCard, ModelCardData

TEMPLATE = Path(__file__).with_name("card.md")
EXAMPLE = Example(
    context="The bridge is 90 m long and was opened in 1932.",
    answer="The bridge is 90 m long. It was opened in 1950.",
)
_LICENCE = "apache-2.0"


class _Weights(NamedTuple):
    """A folder that is what its manifest says, and its judge."""

    path: Path
    name: str  # what the judge is called by someone beside the folder
    config: LunaConfig
    judge: Judge
    calibration: Calibration | None
    files: dict[str, str]  # SHA-256 of each file, by name


def render_card(
    weights: Path, record: TrainingRecord, run: Run, reports: Sequence[Report]
) -> ModelCard:
    """Render the card; every number of it comes from the arguments or the judge itself.

    Raises:
        LunaError: the folder is not what its manifest says.
        CardError: the parts do not belong together; names the field.
        MissingExtra: jinja2, or what the judge runs on, is not installed.
    """
    opened = _open(weights)
    training.check_record(record, run, opened.config)
    measured = [results.find_system(report, opened.judge.info) for report in reports]
    check_reports(measured)
    from huggingface_hub import ModelCard

    text = fill(
        TEMPLATE,
        card_data=_metadata(opened, record, run, measured).to_yaml(),
        weights=opened,
        files=files_table(opened.path, opened.files),
        example=EXAMPLE,
        printed=_printed(opened.judge),
        record=record,
        run=run,
        base_licence=training.BASES[run.base],
        may_ship=training.may_ship(run),
        reports=measured,
        results=results,
        training=training,
    )
    return ModelCard(text)


def fill(template: Path, **values: object) -> str:
    """Fill a card's template; a value that it names and does not get is an error.

    Raises:
        MissingExtra: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtra("rendering a model card", "card") from None
    environment = Environment(  # noqa: S701 (Markdown, not HTML)
        trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    return environment.from_string(template.read_text(encoding="utf-8")).render(**values)


def check_reports(measured: Sequence[Measured]) -> None:
    """Require at least one report, and no two on the same rows.

    Raises:
        CardError: they are not.
    """
    if not measured:
        raise CardError("a card needs at least one report of `moonlynx eval`")
    titles = [each.title for each in measured]
    if len(set(titles)) < len(titles):
        raise CardError(f"two reports are on the same rows: {', '.join(titles)}")


def _open(weights: Path) -> _Weights:
    """Check the files of every form that the folder holds, and load the first."""
    if not weights.is_dir():
        raise CardError(f"there is no weights folder at {weights}")
    path = weights.resolve()
    forms = [form for form, names in WEIGHTS.items() if (path / names[0]).is_file()] or ["onnx"]
    folders = [open_weights(str(path), form) for form in forms]
    judge = find_factory("luna").build(JudgeSpec("luna", str(path), forms[0]), None)
    calibration = None
    if folders[0].calibration is not None:
        calibration = load_calibration(folders[0].calibration)
        if calibration.judge != judge.info:
            raise CardError(
                f"the folder's calibration was fitted for {calibration.judge.version}, the weights "
                f"are {judge.info.version}; calibrate them anew"
            )
    shipped = {folder.resolve(): model for model, folder in EMBEDDED.items()}
    model = shipped.get(path, f"./{path.name}")
    name = "luna" if model is None else f"luna:{model}"
    return _Weights(
        path,
        name if forms[0] == "onnx" else f"{name}@{forms[0]}",
        folders[0].config,
        judge,
        calibration,
        load_record(path / MANIFEST, Manifest, LunaError).files,
    )


def _metadata(
    weights: _Weights, record: TrainingRecord, run: Run, measured: Sequence[Measured]
) -> ModelCardData:
    from huggingface_hub import ModelCardData

    may_ship = training.may_ship(run)
    return ModelCardData(
        language="en",
        license=_LICENCE if may_ship else "other",
        license_name=None if may_ship else "research-only",
        library_name="moonlynx",
        pipeline_tag="text-classification",
        tags=["hallucination-detection", "rag", "groundedness", "token-classification"],
        base_model=run.base,
        datasets=training.used_sets(run),
        metrics=["f1", "roc_auc", "balanced_accuracy"],
        model_name=f"{weights.config.name}-{record.recipe}",
        eval_results=results.eval_results(measured),
    )


def files_table(folder: Path, files: Mapping[str, str]) -> str:
    """Write the folder's files, with size and SHA-256."""
    rows = [
        [f"`{name}`", f"{(folder / name).stat().st_size:,}", f"`{sha256}`"]
        for name, sha256 in files.items()
    ]
    return table(["file", "bytes", "SHA-256"], rows, (0, 2))


def _printed(judge: Judge) -> str:
    """Return what the card's Python example prints."""
    (verdict,) = judge([EXAMPLE])
    return f"{verdict.score} {[span.text for span in verdict.spans]}"
