"""Training on a card: its data with their licences, its stages, what was chosen."""

from moonlynx.eval.markdown import UNDEFINED, table
from moonlynx.judge.decision.lengths import PRESETS, ByLength
from moonlynx.judge.judges.luna.config import LunaConfig
from moonlynx.recipes.data.mixes import SOURCES
from moonlynx.recipes.luna.record import TrainingRecord
from moonlynx.recipes.luna.settings import Run, Stage

from .results import CardError

# Licences of the base encoders that training may start from, as their Hub pages state them.
BASES = {
    "sentence-transformers/all-MiniLM-L6-v2": "Apache-2.0",
    "sentence-transformers/all-mpnet-base-v2": "Apache-2.0",
    "cross-encoder/nli-deberta-v3-large": "Apache-2.0",
    "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli": "MIT",
    "answerdotai/ModernBERT-base": "Apache-2.0",
    "answerdotai/ModernBERT-large": "Apache-2.0",
}


def check_record(record: TrainingRecord, run: Run, config: LunaConfig) -> None:
    """Check that the record, the settings and the weights are of one run.

    Raises:
        CardError: they are not, or the base's licence is not known; names the field.
    """
    pairs = {
        "mix": (record.mix, run.mix),
        "base": (record.base, run.base),
        "base_sha256": (record.base_sha256, run.base_sha256 or record.base_sha256),
        "stages": ([stage.name for stage in record.stages], list(run.stages)),
    }
    for field, (recorded, set_) in pairs.items():
        if recorded != set_:
            raise CardError(f"{field}: the record has {recorded}, the run's settings {set_}")
    read = (config.window, config.lead, config.claim)
    if read != (run.window, run.lead, run.claim):
        raise CardError(
            f"window, lead, claim: the weights have {read}, the run's settings "
            f"{(run.window, run.lead, run.claim)}"
        )
    chosen = (config.aggregation, config.answer)
    if chosen not in {(each.aggregation, each.answer) for each in record.aggregations}:
        raise CardError(f"aggregations: the record has none that is the weights' {chosen}")
    if run.base not in BASES:
        raise CardError(f"base: the licence of {run.base} is not in moonlynx.model_card.training")


def used_sets(run: Run) -> list[str]:
    """Return the sets that the stages read, in their order.

    Raises:
        CardError: the table of licences does not have one.
    """
    stages = run.stages.values()
    names = dict.fromkeys(n for s in stages for n in (*s.pairs, *s.answers, *s.right))
    for name in names:
        if name not in SOURCES:
            raise CardError(f"{name} is not in the table of licences, recipes/data/licences.yaml")
    return list(names)


def may_ship(run: Run) -> bool:
    """Return whether the licences of all sets let the weights ship; those of files are unknown."""
    files = any(stage.labelled or stage.judged for stage in run.stages.values())
    return not files and all(SOURCES[name].shipped for name in used_sets(run))


def data_table(run: Run) -> str:
    """Write each set with its rows, what each stage takes of it at most, and its licence."""
    rows = []
    for name in used_sets(run):
        source = SOURCES[name]
        taken = [_taken(stage, name) for stage in run.stages.values()]
        rows.append([name, source.use, *taken, source.licence, source.why])
    stages = [f"stage `{name}`" for name in run.stages]
    header = ["set", "has", *stages, "licence as stated", "what it is"]
    return table(header, rows, range(len(header)))


def made_data(run: Run) -> list[str]:
    """Return a sentence for each stage that reads what was made, or files of rows."""
    found = []
    for name, stage in run.stages.items():
        parts = []
        if stage.right_claims:
            parts.append(f"at most {stage.right_claims:,} claims of right answers as they are")
        parts += [
            f"at most {count:,} wrong claims made of right ones ({kind})"
            for kind, count in stage.changed.items()
            if count
        ]
        if stage.synthetic:
            parts.append(
                f"the claims of {stage.synthetic:,} answers over records, both made by rule"
            )
        files = [*stage.labelled, *(each.rows for each in stage.judged)]
        parts += [f"the rows of {file}, under the licences of their texts" for file in files]
        if parts:
            found.append(f"Stage `{name}`: {'; '.join(parts)}.")
    return found


def attributions(run: Run) -> list[str]:
    """Return the sets under a Creative Commons licence that asks for attribution, with it."""
    found = []
    for name in used_sets(run):
        stated = (SOURCES[name].licence, SOURCES[name].why)
        licence = next((text for text in stated if "CC BY" in text), None)
        if licence:
            found.append(f"{name} ({licence})")
    return found


def stage_table(record: TrainingRecord) -> str:
    """Write what each stage read, how long it took and how far it came."""
    rows = [
        [
            each.name,
            f"{each.items:,}",
            f"{each.tokens:,}",
            f"{each.seconds / 3600:.2f}",
            f"{each.held_back:,}",
            _percent(each.auroc),
        ]
        for each in record.stages
    ]
    header = ["stage", "claims", "tokens read", "hours", "claims held back", "their AUROC"]
    return table(header, rows)


def aggregation_table(record: TrainingRecord, config: LunaConfig) -> str:
    """Write the AUROC of every aggregation on the validation sets; the weights' own is in bold."""
    sets = sorted({name for each in record.aggregations for name in each.auroc})
    rows = []
    for each in record.aggregations:
        own = (each.aggregation, each.answer) == (config.aggregation, config.answer)
        name = f"{each.aggregation}, {each.answer}"
        scores = [_percent(each.mean), *(_percent(each.auroc.get(one)) for one in sets)]
        rows.append([f"**{name}**" if own else name, *scores])
    return table(["claim, answer", "mean", *sets], rows)


def preset_table(by_length: ByLength) -> str:
    """Write the thresholds of the presets by length, and what they cost."""
    header = ["claims", "faithful rows", "hallucinated rows"]
    header += [f"`{preset}`: threshold, found, stopped" for preset in PRESETS]
    ends = [f"–{band.claims - 1}" for band in by_length.bands[1:]] + [" or more"]
    rows = []
    for band, end, cost in zip(by_length.bands, ends, by_length.costs, strict=True):
        costs = [
            f"{getattr(band, preset):.2f}, {_percent(cost.found[preset] / cost.fails)}, "
            f"{_percent(cost.stopped[preset] / cost.passes)}"
            for preset in PRESETS
        ]
        span = str(band.claims) if end == f"–{band.claims}" else f"{band.claims}{end}"
        rows.append([span, cost.passes, cost.fails, *costs])
    return table(header, rows)


def _taken(stage: Stage, name: str) -> str:
    uses = []
    if name in stage.pairs:
        uses.append(f"at most {stage.pairs[name]:,} pairs")
    if name in stage.answers:
        cap = stage.answers[name]
        uses.append(f"at most {cap:,} claims" if cap else "all claims")
    if name in stage.right:
        uses.append("right answers")
    return "; ".join(uses) or UNDEFINED


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{100 * share:.1f}"
