"""What the task's YAML calls: rows in, marks out. lm_eval loads this file by its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.judges.lynx import build_prompt
from moonlynx.judge.prompts.parsing import ParseFault, parse_lynx

if TYPE_CHECKING:
    from datasets import DatasetDict


def load(benchmark: str = "halubench", **_: Any) -> DatasetDict:
    """Return the rows of a benchmark, each with `id`, `prompt` and `label`."""
    from datasets import Dataset, DatasetDict

    rows = []
    for row in load_benchmark(benchmark).rows:
        if isinstance(row.example, BadInput):
            raise row.example
        rows.append({"id": str(row.id), "prompt": build_prompt(row.example), "label": row.label})
    return DatasetDict(test=Dataset.from_list(rows))


def score(doc: Mapping[str, str], results: Sequence[str]) -> dict[str, float]:
    """Mark a reply, read as the judge `lynx` reads it."""
    try:
        said = parse_lynx(results[0]).score
    except ParseFault:
        return {"acc": 0.0, "unscored": 1.0}
    return {"acc": float(said == doc["label"]), "unscored": 0.0}
