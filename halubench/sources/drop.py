"""DROP: questions over paragraphs of Wikipedia that ask for counting, sorting and adding.

Dua et al., "DROP: A Reading Comprehension Benchmark Requiring Discrete Reasoning Over Paragraphs"
(NAACL 2019), CC BY-SA 4.0, on the Hub ucinlp/drop (newest revision): `validation` for the
benchmark, `train` for training. In a folder: the release's own `drop/drop_dataset_dev.json` and
`drop/drop_dataset_train.json`, whose hashes are not known here and so only recorded.

The context is the passage. An answer of several spans is joined by commas, as in HaluBench; a
number is the answer as written, a date is written day, month, year. Rows of one passage share a
group.
"""

from collections.abc import Iterable, Iterator

from ..records import QARow
from .base import DataFile, Folder, Hub, Origin, RawRow, Source, Split, digest, make_row

_LICENCE = "CC BY-SA 4.0"
_FILES: dict[Split, DataFile] = {
    "test": DataFile("drop/drop_dataset_dev.json", None, _LICENCE),
    "train": DataFile("drop/drop_dataset_train.json", None, _LICENCE),
}
NAME = "DROP"


def _read_folder(folder: Folder, split: Split) -> Iterator[QARow]:
    passages, origin = folder.read_json(_FILES[split])
    for section in passages.values():
        for pair in section["qa_pairs"]:
            answer = _written(pair["answer"])
            if answer:
                yield _row(section["passage"], pair["query_id"], pair["question"], answer, origin)


def _written(answer: RawRow) -> str:
    """Write an answer, which is a number, a date or some spans."""
    date = answer["date"]
    parts = [answer["number"]] if answer["number"] else answer["spans"]
    if not parts:
        return " ".join(date[part] for part in ("day", "month", "year") if date.get(part))
    return ", ".join(parts)


def _read_hub(rows: Iterable[RawRow], origin: Origin) -> Iterator[QARow]:
    for raw in rows:
        answer = ", ".join(raw["answers_spans"]["spans"])
        if answer:
            yield _row(raw["passage"], raw["query_id"], raw["question"], answer, origin)


def _row(passage: str, key: str, question: str, answer: str, origin: Origin) -> QARow:
    return make_row(
        NAME, key, digest(passage), origin, question=question, context=(passage,), answer=answer
    )


SOURCE = Source(
    name=NAME,
    title="DROP (Dua et al., NAACL 2019)",
    labelled=False,
    hub={
        "test": Hub("ucinlp/drop", "validation", _LICENCE),
        "train": Hub("ucinlp/drop", "train", _LICENCE),
    },
    read_folder=_read_folder,
    read_hub=_read_hub,
)
