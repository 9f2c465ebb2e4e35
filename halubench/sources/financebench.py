"""FinanceBench: questions about companies' filings, with the evidence and the right answer.

Islam et al., "FinanceBench: A New Benchmark for Financial Question Answering" (2023),
patronus-ai/financebench at cc39aeb4afdf33909ee1412188bf89035950c2eb (no licence stated there), on
the Hub PatronusAI/financebench (newest revision). Only its open part is public: 150 questions of
10,231, so the 1,000 rows of HaluBench are not available from either.

The context is one document for each piece of evidence; the gold answer is the answer as it is.
Rows of one filing share a group. The paper trains on none of it.
"""

from collections.abc import Iterable, Iterator

from ..records import QARow
from .base import DataFile, Folder, Hub, Origin, RawRow, Source, Split, make_row

_LICENCE = "none stated"
_FILE = DataFile(
    "financebench/financebench_open_source.jsonl",
    "a5a2aa673e573e55675fc3c0f9aa38c1cf59d2abc91edb077534f71f10a71877",
    _LICENCE,
)
NAME = "FinanceBench"


def _read_folder(folder: Folder, _split: Split) -> Iterator[QARow]:
    return _read(*folder.read_lines(_FILE))


def _read(rows: Iterable[RawRow], origin: Origin) -> Iterator[QARow]:
    for raw in rows:
        key = raw["financebench_id"]
        yield make_row(
            NAME,
            key,
            raw["doc_name"],
            origin,
            question=raw["question"],
            context=tuple(piece["evidence_text"] for piece in raw["evidence"]),
            answer=raw["answer"],
        )


SOURCE = Source(
    name=NAME,
    title="FinanceBench (Islam et al., 2023), patronus-ai/financebench",
    labelled=False,
    hub={"test": Hub("PatronusAI/financebench", "train", f"{_LICENCE} in its repository")},
    read_folder=_read_folder,
    read_hub=_read,
    note="only 150 of FinanceBench's questions are public",
)
