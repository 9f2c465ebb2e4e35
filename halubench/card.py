"""The card of a built set: what it holds, as the Hub and `datasets` read it."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template

from moonlynx.eval.markdown import table

from .manifest import Output, Plan, SourceReport

_TITLES = {
    "test": "HaluBench, rebuilt by moonlynx",
    "train": "Training set of a reasoning judge, built by moonlynx",
}
_USES = {
    "test": "A benchmark: test only. Nothing may be trained on its rows.",
    "train": "For training and validation. No row shares 13 words in a row with the test rows it "
    "was built against.",
}
_COMPOSITION = (
    *("source", "part", "rows", "PASS", "FAIL", "wanted", "wanted FAIL", "licence", "paper"),
)
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
_TEMPLATE = files(__package__).joinpath("card.md").read_text(encoding="utf-8")


def render_card(plan: Plan, sources: Sequence[SourceReport], outputs: Mapping[str, Output]) -> str:
    """Write the card: YAML front matter that `datasets` loads by, then Markdown."""
    missing = [
        f"- {source.source}, {part.part}: built {part.rows:,} of {part.wanted:,}, missing because "
        f"{part.missing}."
        for source in sources
        for part in source.parts
        if part.missing
    ]
    unchanged = [
        f"{part.unchanged:,} of {source.source}"
        for source in sources
        for part in source.parts
        if part.unchanged
    ]
    kind = "parquet" if any(name.endswith(".parquet") for name in outputs) else "jsonl"
    names = [name for name, output in outputs.items() if name.endswith(kind) and output.rows]
    rows = sum(outputs[name].rows or 0 for name in names)
    return Template(_TEMPLATE).substitute(
        title=_TITLES[plan.split],
        size=next(name for limit, name in _SIZES if rows < limit),
        splits="\n".join(
            f"  - split: {name.removesuffix(f'.{kind}')}\n    path: {name}" for name in names
        ),
        use=_USES[plan.split],
        rows=f"{plan.rows:,}",
        seed=f"seed {plan.seed}, contexts {plan.contexts}, wrong answers by {plan.perturber}",
        composition=composition_table(sources),
        missing="What is missing:\n\n" + "\n".join(missing) + "\n\n" if missing else "",
        unchanged=", ".join(unchanged) or "none here",
    )


def composition_table(sources: Sequence[SourceReport]) -> str:
    """Write what each part holds of each source, in Markdown."""
    lines: list[tuple[object, ...]] = []
    for source in sources:
        licences = ", ".join(source.licences) or "-"
        for part in source.parts:
            half = "as drawn" if part.wanted_fails is None else part.wanted_fails
            counts = (part.rows, part.rows - part.fails, part.fails, part.wanted, half)
            lines.append((source.source, part.part, *counts, licences, source.title))
    parts = [part for source in sources for part in source.parts]
    rows, fails = sum(part.rows for part in parts), sum(part.fails for part in parts)
    wanted = sum(part.wanted for part in parts)
    lines.append(("all", "", rows, rows - fails, fails, wanted, "", "", ""))
    return table(_COMPOSITION, lines, left=(0, 1, 7, 8), form="spaced") + "\n"
