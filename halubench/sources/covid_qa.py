"""COVID-QA: questions of biomedical experts over whole papers, answered by a piece of the paper.

Möller et al., "COVID-QA: A Question Answering Dataset for COVID-19" (2020), Apache-2.0,
deepset-ai/COVID-QA at fb2eb5e249618457e5359806601086c635c8eb8f: the version of 23 April 2020, 1,380
questions over 98 papers. The final set, 2,019 questions over 147 papers, is on the Hub
deepset/covid_qa_deepset. It comes with a loading script, which is never run here: the Hub's own
conversion to Parquet is read (branch refs/convert/parquet; not tried against the Hub itself).

There is one split for both benchmark and training; rows of one paper share a group, and a training
set is built against the benchmark's rows. The context is the whole paper, 23,500 characters on
average; `excerpt` holds the paragraphs around the answer, a thousand characters or more on either
side. The gold answer is the marked piece, stripped.
"""

import re
from collections.abc import Iterable, Iterator

from ..records import QARow
from .base import DataFile, Folder, Hub, Origin, RawRow, Source, Split, make_row

_LICENCE = "Apache-2.0"
_FILE = DataFile(
    "covid_qa/200423_covidQA.json",
    "ab310b4e39f726e087c8fa3d1787c73771dacddc584977204ebe3cc889ee1264",
    _LICENCE,
)
_HUB = Hub("deepset/covid_qa_deepset", "train", _LICENCE, revision="refs/convert/parquet")
_BESIDE = 1_000  # characters of an excerpt on either side of the answer, at the least
_BREAK = re.compile(r"\n\s*\n")
NAME = "covidQA"


def _read_folder(folder: Folder, split: Split) -> Iterator[QARow]:
    content, origin = folder.read_json(_FILE)
    left_out = folder.left_out("covid_qa: question id") if split == "train" else ()
    for article in content["data"]:
        for paper in article["paragraphs"]:
            for raw in paper["qas"]:
                if str(raw["id"]) not in left_out:
                    answer = raw["answers"][0]
                    place = (answer["answer_start"], answer["text"])
                    where = (paper["context"], paper["document_id"])
                    yield from _row(raw["id"], raw["question"], place, where, origin)


def _read_hub(rows: Iterable[RawRow], origin: Origin) -> Iterator[QARow]:
    for raw in rows:
        answers = raw["answers"]
        if answers["text"]:
            place = (answers["answer_start"][0], answers["text"][0])
            where = (raw["context"], raw["document_id"])
            yield from _row(raw["id"], raw["question"], place, where, origin)


def _row(
    key: int, question: str, place: tuple[int, str], where: tuple[str, int], origin: Origin
) -> Iterator[QARow]:
    """Yield the row; none where the paper does not hold the answer."""
    paper, document = where
    answer = place[1].strip()
    start = _find(paper, answer, place[0])
    if answer and start is not None:
        yield make_row(
            NAME,
            key,
            document,
            origin,
            question=question,
            context=(paper,),
            answer=answer,
            excerpt=(_excerpt(paper, start, start + len(answer)),),
        )


def _find(paper: str, answer: str, near: int) -> int | None:
    """Return the answer's offset nearest to `near`: some are wrong by a few characters."""
    places = [match.start() for match in re.finditer(re.escape(answer), paper)]
    return min(places, key=lambda place: abs(place - near), default=None)


def _excerpt(paper: str, start: int, end: int) -> str:
    breaks = [0, *(match.end() for match in _BREAK.finditer(paper)), len(paper)]
    before = max(at for at in breaks if at <= max(0, start - _BESIDE))
    after = min(at for at in breaks if at >= min(len(paper), end + _BESIDE))
    return paper[before:after].strip()


SOURCE = Source(
    name=NAME,
    title="COVID-QA (Möller et al., 2020), deepset-ai/COVID-QA",
    labelled=False,
    hub={"test": _HUB, "train": _HUB},
    read_folder=_read_folder,
    read_hub=_read_hub,
)
