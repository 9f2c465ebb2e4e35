"""Renders the card of a chat model that was fine-tuned to judge, from its run and its reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from moonlynx.eval.markdown import table
from moonlynx.eval.provenance import JudgeRun
from moonlynx.eval.records import Report
from moonlynx.judge.backends.hub import is_on_hub, repository
from moonlynx.judge.backends.pretrained import has_adapters, read_base
from moonlynx.judge.contract.spec import JudgeSpec
from moonlynx.judge.files.stored import sha256_file
from moonlynx.recipes.chat.record import TrainingRecord
from moonlynx.recipes.lynx.settings import LynxRun

from . import results
from .card import EXAMPLE, check_reports, files_table, fill
from .results import CardError, Measured

if TYPE_CHECKING:
    from huggingface_hub import ModelCard, ModelCardData

TEMPLATE = Path(__file__).with_name("lynx.md")
_WEIGHTS = ("model*.safetensors", "adapter_model*.safetensors")
# Licences as the bases' Hub pages state them, with the Hub's own names for them. What is derived
# from a base is under its terms.
_BASES = {
    "meta-llama/Meta-Llama-3-8B-Instruct": ("llama3", "Meta Llama 3 Community License"),
    "meta-llama/Meta-Llama-3-70B-Instruct": ("llama3", "Meta Llama 3 Community License"),
    "meta-llama/Llama-2-13b-chat-hf": ("llama2", "Llama 2 Community License"),
    "meta-llama/Llama-3.2-1B-Instruct": ("llama3.2", "Llama 3.2 Community License"),
    "Qwen/Qwen2.5-3B-Instruct": ("other", "Qwen Research License"),
    "Qwen/Qwen2.5-Coder-0.5B-Instruct": ("apache-2.0", "Apache-2.0"),
    "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF": ("apache-2.0", "Apache-2.0"),
    "Qwen/Qwen2.5-Coder-1.5B-Instruct": ("apache-2.0", "Apache-2.0"),
    "HuggingFaceTB/SmolLM2-135M-Instruct": ("apache-2.0", "Apache-2.0"),
}
_UNKNOWN = ("other", "not known here, to be looked up where the base is from")


def licence_of(base: str) -> str | None:
    """Return the licence of a base model, None where it is not known here."""
    return _BASES[base][1] if base in _BASES else None


def render_lynx_card(
    weights: Path, record: TrainingRecord, run: LynxRun, reports: Sequence[Report]
) -> ModelCard:
    """Render the card; every number of it comes from the arguments or the folder's files.

    The model is not loaded: it may be larger than the machine.

    Raises:
        CardError: the parts do not belong together; names the field.
        BackendError: adapters name no base.
        MissingExtra: jinja2 is not installed.
    """
    if record.base != run.base:
        raise CardError(f"base: the record has {record.base}, the run's settings {run.base}")
    files = {path.name: sha256_file(path) for path in sorted(weights.iterdir()) if path.is_file()}
    if not any(Path(name).match(pattern) for name in files for pattern in _WEIGHTS):
        raise CardError(f"{weights} holds no {' or '.join(_WEIGHTS)}")
    measured = [_find_system(report, weights) for report in reports]
    check_reports(measured)
    from huggingface_hub import ModelCard

    # A run's weights are in `model`: it is the run's folder that has the name.
    name = weights.resolve().parent.name
    base = read_base(weights) if has_adapters(weights) else run.base
    before = None if base == run.base else run.base  # adapters that the run went on from
    base = repository(base) if is_on_hub(base) else base  # of a GGUF file, its place
    sources = [each.source for each in record.read_sources]
    text = fill(
        TEMPLATE,
        card_data=_metadata(name, base, run, sources, measured).to_yaml(),
        name=name,
        folder=weights.name,
        files=files_table(weights, files),
        example=EXAMPLE,
        record=record,
        run=run,
        base=base,
        before=before,
        base_licence=_BASES.get(base, _UNKNOWN)[1],
        losses=", ".join(f"{loss:.3f}" for loss in record.validation_losses),
        sources=sources,
        data_table=_data_table(record),
        reports=measured,
        results=results,
    )
    return ModelCard(text)


def _find_system(report: Report, weights: Path) -> Measured:
    """Find the weights in a report; options and backend are those that it was judged with."""

    def matches(_: JudgeRun, spec: JudgeSpec) -> bool:
        named = spec.name == "lynx" and spec.model is not None
        return named and Path(str(spec.model)).resolve() == weights.resolve()

    return results.find_run(report, f"lynx:{weights}", matches)


def _metadata(
    name: str, base: str, run: LynxRun, sources: Sequence[str], measured: Sequence[Measured]
) -> ModelCardData:
    from huggingface_hub import ModelCardData

    licence, licence_name = _BASES.get(base, _UNKNOWN)
    return ModelCardData(
        language="en",
        license=licence,
        license_name=licence_name if licence == "other" else None,
        library_name="transformers" if run.method == "full" else "peft",
        pipeline_tag="text-generation",
        tags=["hallucination-detection", "rag", "groundedness", "moonlynx"],
        base_model=base,
        datasets=list(sources),
        metrics=["f1", "roc_auc", "balanced_accuracy"],
        model_name=name,
        eval_results=results.eval_results(measured),
    )


def _data_table(record: TrainingRecord) -> str:
    rows = [
        [each.source, f"{each.passes:,}", f"{each.fails:,}", each.licence]
        for each in record.read_sources
    ]
    return table(["source", "PASS", "FAIL", "licence as stated"], rows, (0, 3))
