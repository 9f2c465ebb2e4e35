"""HaluBench: questions, passages and answers from six sources, some answers made wrong.

Ravi et al., "Lynx: An Open Source Hallucination Evaluation Model" (2024), PatronusAI/HaluBench,
CC BY-NC 2.0 on the Hub. Test only. Subsets are the source datasets; labels are its own.

The files are a sample of about 50 rows a source, 299 in all, from chandanasreemala/HaluBench_RAG,
which states no licence. Caveats of its DROP part:

- It has no context column. The contexts of its 24 FAIL rows are in a second file, joined by
  question; its 25 PASS rows are left out. (Two of these share a question with a FAIL row, but their
  answers show that they were asked of another passage.)
- FAIL answers are written "Wrong ans: X / Correct ans: Y"; X alone is the answer. An X that is
  written as a list is joined by commas, as the PASS answers are.

So DROP is FAIL only here, and the RAGTruth part of the sample is PASS only.
"""

import ast
import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from moonlynx.judge.backends.base import MissingExtra

from .base import About, Benchmark, BenchmarkRow, HubLoader, Loader, hash_files, make_row, read_text

_PARTS = ("covid", "drop", "financebench", "halueval", "pubmed", "ragtruth")
_FOLDER = "halubench_sample"
_CONTEXTS = "SM_100_rows.csv"
_WRONG = re.compile(r"wrong ans:\s*(?P<answer>.*?)\s*^correct ans:.*", re.I | re.M | re.S)
_SOURCE = "HaluBench (Ravi et al., 2024), PatronusAI/HaluBench"
_RULE = "its own PASS and FAIL"
_ABOUT = About(
    "halubench",
    f"a sample of {_SOURCE}, from chandanasreemala/HaluBench_RAG",
    "none stated for the sample (HaluBench: CC BY-NC 2.0)",
    _RULE,
)
_CAVEATS = (
    "A small sample: published HaluBench numbers are over 15,000 rows, these give a rough check.",
    "DROP is FAIL only and RAGTruth PASS only in this sample: either constant answer is right on "
    "all of one of them.",
)
_NO_CONTEXT = "DROP rows without a context in the sample, all PASS"


def _read(data: Path, split: str) -> Benchmark:
    folder = data / _FOLDER
    paths = [folder / f"generated_output_{part}_annotated.xlsx" for part in _PARTS]
    contexts_path = folder / _CONTEXTS
    # The same question may have been asked of other passages: these are the FAIL rows' contexts.
    contexts = {
        row["query"].strip(): row["context"]
        for row in csv.DictReader(io.StringIO(read_text(contexts_path), newline=""))
    }
    rows: list[BenchmarkRow] = []
    left_out = 0
    for path in paths:
        for number, raw in enumerate(_sheet(path), start=1):
            context = raw.get("context")
            if context is None and raw["label"] == "FAIL":
                context = contexts[raw["question"].strip()]
            if context is None:
                left_out += 1
                continue
            answer = _stated(str(raw["answer"]))
            rows.append(
                make_row(
                    "halubench",
                    raw["source"],
                    number,
                    raw["label"],
                    question=raw["question"],
                    context=context,
                    answer=answer,
                )
            )
    files = hash_files(data, [*paths, contexts_path])
    return Benchmark(
        _ABOUT,
        split,
        tuple(rows),
        files=files,
        caveats=_CAVEATS,
        left_out={_NO_CONTEXT: left_out},
    )


def _stated(answer: str) -> str:
    """Return the answer that was stated, without the right one beside it."""
    match = _WRONG.fullmatch(answer)
    if match is None:
        return answer
    stated = match["answer"]
    if stated.startswith("["):
        return ", ".join(str(item) for item in ast.literal_eval(stated))
    return stated


def _sheet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra("Reading the sample of HaluBench", "data") from None
    workbook = load_workbook(path, read_only=True)
    try:
        rows = workbook.worksheets[0].iter_rows(values_only=True)
        header = next(rows)
        for row in rows:
            yield {name: value for name, value in zip(header, row, strict=True) if name}
    finally:
        workbook.close()


def _hub_row(number: int, raw: Mapping[str, Any]) -> BenchmarkRow:
    return make_row(
        "halubench",
        raw["source_ds"],
        raw["id"] or number,
        raw["label"],
        question=raw["question"] or "",
        context=raw["passage"],
        answer=raw["answer"],
    )


LOADER = Loader(_ABOUT, ("test",), _read)
HUB = HubLoader(
    About("PatronusAI/HaluBench", _SOURCE, "CC BY-NC 2.0", _RULE),
    ("test",),
    _hub_row,
)
