"""The card of a built set: what it holds, as the Hub and `datasets` read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
_FIELDS = """\
| field | meaning |
| --- | --- |
| `id` | source and row, the same in every build |
| `source` | the source's name, as in HaluBench's `source_ds` |
| `question`, `context`, `answer` | what a judge reads; `context` is a list of documents |
| `label` | PASS: the context holds the answer; FAIL: it does not |
| `group` | rows of one group share a document |
| `provenance` | file, its SHA-256, revision, row and licence |
| `excerpt` | the part of a long context that holds the right answer, else null |
| `gold` | the right answer, where `answer` was made wrong |
| `kind`, `change`, `edits` | how it was made wrong, and in which characters of `answer` |
| `annotation` | the note of the people who marked what is wrong; only RAGTruth has it |
| `reasoning` | why the label holds; empty before traces are made |
"""


def render_card(plan: Plan, sources: Sequence[SourceReport], outputs: Mapping[str, Output]) -> str:
    """Write the card: YAML front matter that `datasets` loads by, then Markdown."""
    seed = f"seed {plan.seed}, contexts {plan.contexts}, wrong answers by {plan.perturber}"
    missing = [
        f"- {source.source}, {part.part}: built {part.rows:,} of {part.wanted:,}, missing because "
        f"{part.missing}."
        for source in sources
        for part in source.parts
        if part.missing
    ]
    sections = [
        _front_matter(plan, outputs),
        f"# {_TITLES[plan.split]}\n",
        f"{_USES[plan.split]}\n",
        'Composition after Ravi et al., "Lynx: An Open Source Hallucination Evaluation Model" '
        f"(2024), sections 3.2 and 3.3; {plan.rows:,} rows were asked for ({seed}).\n",
        composition_table(sources),
    ]
    unchanged = [
        f"{part.unchanged:,} of {source.source}"
        for source in sources
        for part in source.parts
        if part.unchanged
    ]
    if missing:
        sections += ["What is missing:\n", "\n".join(missing) + "\n"]
    sections += [
        "Wrong answers in FinanceBench, DROP, COVID-QA and PubMedQA are right ones with a small "
        "change, each change verified; in HaluEval and RAGTruth the labels are the published ones. "
        "Both halves are drawn from answers that could be made wrong, but for PASS rows that fill "
        f"up a source which has too few: {', '.join(unchanged) or 'none here'}. Each source keeps "
        "its own licence, which is with every row.\n",
        _FIELDS,
    ]
    return "\n".join(sections)


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


def _front_matter(plan: Plan, outputs: Mapping[str, Output]) -> str:
    kind = "parquet" if any(name.endswith(".parquet") for name in outputs) else "jsonl"
    files = [name for name, output in outputs.items() if name.endswith(kind) and output.rows]
    rows = sum(outputs[name].rows or 0 for name in files)
    size = next(name for limit, name in _SIZES if rows < limit)
    splits = "\n".join(
        f"  - split: {name.removesuffix(f'.{kind}')}\n    path: {name}" for name in files
    )
    return f"""\
---
pretty_name: {_TITLES[plan.split]}
language:
- en
license: other
task_categories:
- text-classification
tags:
- hallucination-evaluation
- rag
size_categories:
- {size}
configs:
- config_name: default
  data_files:
{splits}
---
"""
