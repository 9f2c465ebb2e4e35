"""What every set of labelled answers is read into, and the files it is read from."""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moonlynx.judge.contract.types import BadInput, Evidence, Example, Score
from moonlynx.judge.text import split_sentences

from ..exclusions import DataNotFound

XQUAD = "xquad_en/xquad.en.json"  # in SQuAD's form
Exclusions = Mapping[str, frozenset[str]]
Ranges = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer with its documents and its label."""

    # with label, source (the set's name) and id. `spans` are the unsupported ranges of the answer:
    # none of them where it is PASS, null where only the label is known
    example: Example
    exact: bool  # the spans mark the unsupported words themselves, not whole sentences
    group: str  # rows that share it share a document, also across sets
    # ranges of the answer with P(supported), where another judge gave one
    beliefs: tuple[tuple[int, int, float], ...] = ()
    # of the unsupported claims, whether the documents say otherwise (True) or say nothing of it
    # (False); None where that is not known
    contradicted: bool | None = None
    # ranges of the answer with the sentences of the documents that support them, all of them known;
    # none for a range that holds in view of any document
    evidence: tuple[tuple[int, int, tuple[Evidence, ...]], ...] = ()

    @property
    def label(self) -> Score:
        """Return the example's label.

        Raises:
            BadInput: it has none.
        """
        if self.example.label is None:
            field = f"{self.example.id}, label"
            raise BadInput("bad_input", field, "is missing; give PASS or FAIL")
        return self.example.label


def labelled(
    source: str,
    key: str | int,
    label: Score,
    *,
    context: str | Sequence[str],
    answer: str,
    question: str = "",
    spans: Ranges | None = None,
    exact: bool = True,
    group: str | None = None,
    contradicted: bool | None = None,
) -> LabelledAnswer:
    """Build the row `source/key`; its group is that of its first document where none is given.

    `spans` may overlap. They count only where the row is FAIL.
    """
    documents = (context,) if isinstance(context, str) else tuple(context)
    ranges = () if label == "PASS" else None if spans is None else _merge(spans)
    example = Example.from_row(
        {
            "id": f"{source}/{key}",
            "question": question,
            "context": documents,
            "answer": answer,
            "label": label,
            "spans": None if ranges is None else as_spans(answer, ranges),
            "source": source,
        }
    )
    known = ranges is not None and (exact or label == "PASS")
    group = group_of(documents[0]) if group is None else group
    return LabelledAnswer(example, known, group, contradicted=contradicted)


def as_spans(answer: str, ranges: Ranges) -> list[dict[str, Any]]:
    """Return ranges of an answer as a row's `spans`."""
    return [{"start": start, "end": end, "text": answer[start:end]} for start, end in ranges]


def group_of(document: str) -> str:
    """Return a name from a document's beginning, the same for copies in other sets."""
    letters = "".join(filter(str.isalnum, document[:1000].casefold()))
    return letters[:200]


def sentences_at(answer: str, ranges: Ranges) -> list[tuple[int, int]]:
    """Return the ranges of the sentences that the given ranges touch."""
    ranges = list(ranges)
    return [
        (piece.start, piece.end)
        for piece in split_sentences(answer)
        if any(start <= piece.end and end >= piece.start for start, end in ranges)
    ]


def overlap(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Return whether two half-open ranges have a character in common."""
    return first[0] < second[1] and second[0] < first[1]


def read_json(path: Path) -> Any:
    """Read a JSON file, gzipped or not."""
    with open_text(path) as file:
        return json.load(file)


def read_lines(path: Path) -> Iterator[Any]:
    """Yield the values of a file of one JSON value a line, gzipped or not."""
    with open_text(path) as file:
        for line in file:
            yield json.loads(line)


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file with a header, gzipped or not."""
    with open_text(path, newline="") as file:
        yield from csv.DictReader(file)


def read_tsv(path: Path, names: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
    """Yield the rows of a tab-separated file without quotes; without `names`, a header has them."""
    with open_text(path, newline=None) as file:
        yield from csv.DictReader(file, names, delimiter="\t", quoting=csv.QUOTE_NONE)


def read_squad(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the title of an article with each of its paragraphs, of a JSON file in SQuAD's form."""
    for article in read_json(path)["data"]:
        for paragraph in article["paragraphs"]:
            yield article.get("title", ""), paragraph


def open_text(path: Path, newline: str | None = "\n") -> io.TextIOWrapper:
    """Open a text file, gzipped or not; a byte order mark is skipped."""
    if not path.is_file():
        raise DataNotFound(path)
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline=newline)
    return path.open(encoding="utf-8-sig", newline=newline)


def _merge(ranges: Ranges) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
