"""SummEdits: summaries edited so that they stay true to their document or not.

Laban et al., "SummEdits: Measuring LLM Ability at Factual Reasoning Through the Lens of
Summarization" (EMNLP 2023), salesforce/factualNLG, Apache-2.0 (CC BY 4.0 on the Hub). Subsets are
the domains. The split "test" is test only; "evaluation" is for validation. A row with label 1 is
PASS, with label 0 FAIL.

The files hold 8 of the 10 domains: BillSum and Shakespeare are missing. On the Hub the splits are
not distinguished.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moonlynx.judge.contract.types import Score

from .base import (
    About,
    Benchmark,
    BenchmarkRow,
    HubLoader,
    Loader,
    find_files,
    hash_files,
    make_row,
    read_json,
)

_SOURCE = "SummEdits (Laban et al., EMNLP 2023), salesforce/factualNLG"
_RULE = "PASS if the edited summary was judged consistent (label 1), FAIL if not (label 0)"
_LABELS: dict[int, Score] = {1: "PASS", 0: "FAIL"}
_ABOUT = About("summedits", _SOURCE, "Apache-2.0", _RULE)


def _read(data: Path, split: str) -> Benchmark:
    paths = find_files(data, "summedits/summedits_*.json*")
    rows = tuple(
        _row(path.name.split(".", 1)[0].removeprefix("summedits_"), raw)
        for path in paths
        for raw in read_json(path)
        if raw["split"] == split
    )
    files = hash_files(data, paths)
    caveats = ("The files hold 8 of the 10 domains: BillSum and Shakespeare are missing.",)
    return Benchmark(_ABOUT, split, rows, test_only=split == "test", files=files, caveats=caveats)


def _row(domain: str, raw: Mapping[str, Any]) -> BenchmarkRow:
    label = _LABELS[raw["label"]]
    return make_row(
        "summedits", domain, raw["id"], label, context=raw["doc"], answer=raw["summary"]
    )


LOADER = Loader(_ABOUT, ("test", "evaluation"), _read)
HUB = HubLoader(
    About("Salesforce/summedits", _SOURCE, "CC BY 4.0", _RULE),
    ("train",),  # the only one there; it holds all rows
    lambda _number, raw: _row(raw["domain"], raw),
)
