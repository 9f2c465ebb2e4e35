"""Read changed rows blind: is the change wrong and fluent to a reader who knows no label?

Rows whose answers were perturbed are drawn at random and mixed with untouched ones; a reader sees
a sheet that does not say which is which, files a verdict for each row, and only then the key is
opened.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Literal, get_args

import typer

from moonlynx.eval.intervals import wilson
from moonlynx.eval.markdown import table
from moonlynx.judge.contract.types import BadInput, Documents, Record, Text
from moonlynx.judge.files.journal import AnyRecord, read_records, to_line
from moonlynx.judge.terminal.messages import echo

from .perturb.source import content_of, read
from .records import QARow, read_rows

_LONGEST = 12_000  # characters of documents that a reader is given whole
_BESIDE = 2_000  # characters of a longer one on either side of the nearest evidence
_Verdict = Literal["valid-wrong", "right", "odd"]
_VERDICTS: tuple[_Verdict, ...] = get_args(_Verdict)
SHEET, KEY, VERDICTS, FILED = "sheet.jsonl", "key.jsonl", "verdicts.jsonl", "filed.jsonl"


class SheetRow(Record):
    """What the reader sees of a row: nothing that tells its label, source or id."""

    number: int
    question: Text
    context: Documents
    answer: Text


class KeyRow(Record):
    """What the reader does not see; `kind` is that of the change, None of an untouched row."""

    number: int
    id: Text
    source: Text
    kind: Text | None = None


class Verdict(Record):
    """What the reader found."""

    number: int  # of the row on the sheet
    # valid-wrong: a fluent answer which the context contradicts or does not hold; right: the
    # context supports it; odd: no fluent answer to the question
    verdict: _Verdict
    note: Text = ""  # why, in the reader's words


class FiledRow(KeyRow, Verdict):
    """A verdict beside the key, without the row's text."""


def draw(
    rows: Sequence[QARow], count: int, decoys: int, seed: int
) -> tuple[list[SheetRow], list[KeyRow]]:
    """Draw changed rows and untouched ones of the same sources, and shuffle them.

    Raises:
        BadInput: there are too few rows of either sort.
    """
    changed = [row for row in rows if row.gold is not None]
    sources = {row.source for row in changed}
    right = [row for row in rows if row.label == "PASS" and row.source in sources]
    for name, wanted, found in (("--rows", count, changed), ("--decoys", decoys, right)):
        if wanted > len(found):
            message = f"{wanted} are asked for and {len(found)} are there; ask for fewer"
            raise BadInput("bad_input", name, message)
    rng = Random(f"blind:{seed}")  # noqa: S311
    drawn = rng.sample(changed, count) + rng.sample(right, decoys)
    rng.shuffle(drawn)
    numbered = list(enumerate(drawn, 1))
    sheet = [
        SheetRow(number=number, question=row.question, context=_shown(row), answer=row.answer)
        for number, row in numbered
    ]
    key = [
        KeyRow(number=number, id=row.id, source=row.source, kind=row.kind)
        for number, row in numbered
    ]
    return sheet, key


def _shown(row: QARow) -> tuple[str, ...]:
    """Return the row's documents or, for long ones, the text around the nearest evidence."""
    documents = row.excerpt or row.context
    if sum(map(len, documents)) <= _LONGEST:
        return documents
    best = read(documents).best(content_of(f"{row.question} {row.answer}"))
    if best is None:
        return tuple(document[: 2 * _BESIDE] for document in documents)
    start, end = max(0, best.start - _BESIDE), best.end + _BESIDE
    return (documents[best.document][start:end],)


def score(key: Sequence[KeyRow], verdicts: Sequence[Verdict]) -> tuple[str, list[FiledRow]]:
    """Open the key: report in Markdown, and each verdict beside its row's source and kind.

    Raises:
        BadInput: a row has no verdict or two, or there is no such row; names its number.
    """
    found = {verdict.number: verdict for verdict in verdicts}
    numbers = [verdict.number for verdict in verdicts]
    for number in sorted({row.number for row in key} ^ set(numbers)):
        message = f"row {number} has no verdict" if number not in found else f"no row {number}"
        raise BadInput("bad_input", VERDICTS, f"{message}; file one verdict for each sheet row")
    if twice := [number for number in found if numbers.count(number) > 1]:
        raise BadInput("bad_input", VERDICTS, f"row {twice[0]} has two verdicts; keep one")
    filed = [
        FiledRow(**row.model_dump(), **found[row.number].model_dump(exclude={"number"}))
        for row in key
    ]
    return _report(filed), filed


def _report(filed: Sequence[FiledRow]) -> str:
    changed = [row for row in filed if row.kind is not None]
    parts = {
        "changed rows": changed,
        "untouched rows": [row for row in filed if row.kind is None],
    }
    for row in sorted(changed, key=lambda row: row.source):
        parts.setdefault(f"changed, of {row.source}", []).append(row)
    for row in sorted(changed, key=lambda row: row.kind or ""):
        parts.setdefault(f"changed, by {row.kind}", []).append(row)
    head = ("rows", "read", *_VERDICTS, "as they should be", "95 % interval")
    return table(head, (_line(name, part) for name, part in parts.items() if part), form="tight")


def _line(name: str, rows: Sequence[FiledRow]) -> tuple[object, ...]:
    counts = Counter(row.verdict for row in rows)
    share, low, high = wilson(counts["right" if rows[0].kind is None else "valid-wrong"], len(rows))
    shown = f"{100 * share:.1f} %", f"{100 * low:.1f} to {100 * high:.1f} %"
    return (name, len(rows), *(counts[verdict] for verdict in _VERDICTS), *shown)


def blind(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="A .jsonl file that was built.")
    ],
    output: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for the sheet to read and its key.")
    ],
    rows: Annotated[int, typer.Option(min=1, help="Changed rows to draw.")] = 100,
    decoys: Annotated[int, typer.Option(min=0, help="Untouched rows mixed in.")] = 25,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
) -> None:
    """Draw changed rows and decoys for a blind read: a sheet that does not say which is which.

    The reader files in OUTPUT/verdicts.jsonl, for each row of the sheet, a line with its number,
    a verdict (valid-wrong, right or odd) and a note.
    """
    if (output / VERDICTS).exists():
        message = f"{output} holds verdicts on another draw; choose another folder"
        raise BadInput("bad_input", "--output", message)
    sheet, key = draw(read_rows(file), rows, decoys, seed)
    output.mkdir(parents=True, exist_ok=True)
    (output / SHEET).write_bytes(b"".join(map(to_line, sheet)))
    (output / KEY).write_bytes(b"".join(map(to_line, key)))
    echo(f"{len(sheet)} rows are in {output / SHEET}; file verdicts in {output / VERDICTS}")


def blind_score(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="Folder of a sheet that was read.")
    ],
) -> None:
    """Open the key of a blind read: the share of changes found valid, and of decoys passed.

    Every verdict is filed beside its row's source and kind, without text, in filed.jsonl.
    """
    report, filed = score(_read(folder / KEY, KeyRow), _read(folder / VERDICTS, Verdict))
    (folder / FILED).write_bytes(b"".join(map(to_line, filed)))
    echo(report)


def _read(path: Path, kind: type[AnyRecord]) -> list[AnyRecord]:
    if not path.exists():
        raise BadInput("bad_input", str(path), "is not there; draw a sheet and file verdicts first")
    return read_records(path, kind)
