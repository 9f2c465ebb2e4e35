"""Rows, and what a source provides: a question with its documents and a faithful answer."""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints

from moonlynx.judge.contract.types import Documents, Id, Offset, Record, Score, Text
from moonlynx.judge.files.atomic import written_whole
from moonlynx.judge.files.journal import read_records, to_line

_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Provenance(Record):
    """Where a row is from."""

    file: Text  # path below the data's root; of the Hub, dataset, configuration and split
    # hash of the file's content, unzipped; of the Hub, of the split's rows as JSON lines
    sha256: _Sha256
    revision: Text | None = None  # commit on the Hub; None where the file was read from a folder
    row: Id  # key or number of the row in the file, as the source counts
    licence: Text  # as stated by the source


class Edited(Record):
    """The range of an answer, or of a context document, that was changed so that they disagree."""

    # of the new text, in characters
    start: Offset
    end: Offset
    old: Text  # the text that was there before; empty where something was inserted
    document: Offset | None = None  # which document was changed; None where it was the answer


class QARow(Record):
    """A question, its documents and an answer, faithful or hallucinated."""

    id: Text  # `source/...`, unique in a benchmark, the same for the same row of the source
    source: Text  # name of the source, as in HaluBench's `source_ds`
    # as a judge reads them
    question: Text
    context: Documents
    answer: Text
    # PASS or FAIL; None where the answer is a candidate that may still be perturbed
    label: Score | None = None
    group: Text  # rows of one group share a document and stay on one side of every split
    provenance: Provenance  # where the row is from
    # the part of a long context that holds the faithful answer; None where it is short
    excerpt: Documents | None = None
    gold: Text | None = None  # the faithful answer, where `answer` was perturbed
    kind: Text | None = None  # of the change, where `answer` or `context` was perturbed
    # what was changed, in words, where `answer` or `context` was perturbed
    change: Text | None = None
    # the characters that were changed; empty where they are not known
    edits: tuple[Edited, ...] = ()
    # the source's own note on what is wrong, with its spans in words; "" if none
    annotation: Text = ""
    # why the label holds, in bullet points; empty before traces are made
    reasoning: tuple[Text, ...] = ()


def read_rows(path: Path) -> list[QARow]:
    """Read the rows of a file; blank lines are skipped.

    Raises:
        BadInput: a line is no QARow; names line and field.
        OSError: the file cannot be read.
    """
    return read_records(path, QARow)


def write_rows(path: Path, rows: Iterable[QARow]) -> None:
    """Write a file of rows, whole or not at all."""
    with written_whole(path) as draft, draft.open("wb") as file:
        file.writelines(map(to_line, rows))


def has_parquet() -> bool:
    """Return whether Parquet can be written (the extra `data`)."""
    return find_spec("pyarrow") is not None


def write_parquet(path: Path, rows: Sequence[QARow]) -> None:
    """Write a file of rows with the columns of `QARow`, whole or not at all."""
    import pyarrow as pa
    from pyarrow import parquet

    text, texts, number = pa.string(), pa.list_(pa.string()), pa.int64()
    provenance = pa.struct(
        {"file": text, "sha256": text, "revision": text, "row": text, "licence": text}
    )
    edit = pa.struct({"start": number, "end": number, "old": text, "document": number})
    others = {
        **dict.fromkeys(("context", "excerpt", "reasoning"), texts),
        "provenance": provenance,
        "edits": pa.list_(edit),
    }
    schema = pa.schema({name: others.get(name, text) for name in QARow.model_fields})
    table = pa.Table.from_pylist([row.model_dump(mode="json") for row in rows], schema=schema)
    with written_whole(path) as draft:
        parquet.write_table(table, draft, compression="zstd")
