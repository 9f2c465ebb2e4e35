"""FaithBench: summaries of ten models on which published detectors disagree, with spans by people.

Bao et al., "FaithBench: A Diverse Hallucination Benchmark for Summarization by Modern LLMs" (NAACL
2025), vectara/FaithBench, CC BY-NC-SA 4.0. Test only. The subset is the model that wrote it.

A row is FAIL if any annotator marked a span as Unwanted (intrinsic or extrinsic). Rows whose worst
span is Questionable (72) or Benign (64) are PASS, as are the 175 without a span: so the detector
outputs that come with the rows are counted. Gold spans are the Unwanted ones.

Each row has the outputs of eight published detectors: 1 or 0 for consistent or not, or, from the
HHEM models, a probability of being consistent, which is PASS from 0.5 as their publisher reads it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moonlynx.judge.contract.types import Score

from .base import (
    About,
    Benchmark,
    BenchmarkRow,
    Loader,
    find_files,
    hash_files,
    make_row,
    read_json,
)

_ABOUT = About(
    name="faithbench",
    source="FaithBench (Bao et al., NAACL 2025), vectara/FaithBench",
    licence="CC BY-NC-SA 4.0",
    label_rule=(
        "FAIL if any annotator marked a span Unwanted; rows with only Questionable or Benign "
        "spans, and rows without spans, are PASS"
    ),
)


DETECTORS = (
    "gpt_4o",
    "gpt-4-turbo",
    "gpt-3.5-turbo",
    "hhem-2.1",
    "hhem-2.1-english",
    "hhemv1",
    "trueteacher",
    "true_nli",
)
_CONSISTENT = 0.5


def _read(data: Path, split: str) -> Benchmark:
    paths = sorted(find_files(data, "faithbench/batch_*.json"), key=_batch_number)
    rows = tuple(
        _row(_batch_number(path), raw) for path in paths for raw in read_json(path)["samples"]
    )
    caveats = ("The rows were chosen because published detectors disagree on them.",)
    return Benchmark(_ABOUT, split, rows, files=hash_files(data, paths), caveats=caveats)


def _batch_number(path: Path) -> int:
    return int(path.stem.removeprefix("batch_"))


def _row(batch: int, raw: Mapping[str, Any]) -> BenchmarkRow:
    unwanted = {
        (mark["summary_start"], mark["summary_end"])
        for mark in raw["annotations"]
        if any(label.startswith("Unwanted") for label in mark["label"])
    }
    row = make_row(
        "faithbench",
        raw["metadata"]["summarizer"].rsplit("/", 1)[-1],
        f"{batch}-{raw['sample_id']}",
        "FAIL" if unwanted else "PASS",
        context=raw["source"],
        answer=raw["summary"],
        spans=sorted(unwanted),
    )
    said = {name: raw["metadata"].get(name) for name in DETECTORS}
    recorded: dict[str, Score] = {
        name: "PASS" if value >= _CONSISTENT else "FAIL"
        for name, value in said.items()
        if value is not None
    }
    return row._replace(recorded=recorded)


LOADER = Loader(_ABOUT, ("test",), _read)
