"""Verify a file of rows: schema, names, duplicates, labels, balance and the manifest's counts."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.files.stored import sha256_file

from .manifest import Manifest, read_manifest
from .records import QARow, read_rows
from .sources import SOURCES

_SHOWN = 20


class VerifyError(MoonlynxError):
    """A file of rows is not what it should be; lists what is wrong."""


def verify(path: Path) -> str:
    """Check a file of rows and, where its manifest is beside it, that it is the file built.

    Returns:
        What was checked, in words.

    Raises:
        BadInput: a line is no row.
        VerifyError: the rows contradict each other, their labels or the manifest.
    """
    rows = read_rows(path)
    manifest = read_manifest(path.parent)
    built = manifest if manifest is not None and path.name in manifest.outputs else None
    problems = [*_names(rows), *_labels(rows), *_duplicates(rows), *_balance(rows)]
    if built is not None:
        problems += _against_manifest(path, rows, built)
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems[:_SHOWN])
        more = f"\n  and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise VerifyError(f"{path}: {len(problems)} problems in {len(rows):,} rows\n{listed}{more}")
    beside = "as its manifest says" if built is not None else "without a manifest beside it"
    return f"{path}: {len(rows):,} rows, schema, labels, edits, balance in order, {beside}"


def _names(rows: Sequence[QARow]) -> Iterator[str]:
    if not rows:
        yield "the file holds no rows"
    for name, times in Counter(row.id for row in rows).items():
        if times > 1:
            yield f"{name}: {times} rows have this id"
    for row in rows:
        if row.source not in SOURCES:
            yield f"{row.id}: source is {row.source!r}, none of {', '.join(SOURCES)}"


def _labels(rows: Sequence[QARow]) -> Iterator[str]:
    """Check that a label says what the answer's own history says."""
    for row in rows:
        if row.label is None:
            yield f"{row.id}: has no label"
        elif row.label == "PASS" and (row.gold is not None or row.edits or row.annotation):
            yield f"{row.id}: is PASS, but its answer was perturbed or marked unsupported"
        elif row.label == "FAIL" and not _labelled(row):
            if row.gold is None or row.change is None:
                yield f"{row.id}: is FAIL, but has no faithful answer or no change"
            elif " ".join(row.gold.split()) == " ".join(row.answer.split()):
                yield f"{row.id}: is FAIL, but its answer is the faithful one"
            elif any(edit.document is None for edit in row.edits) and _undone(row) != row.gold:
                yield f"{row.id}: its edits, undone, do not restore the faithful answer"
        if not any(map(str.strip, row.context)) or not row.answer.strip():
            yield f"{row.id}: context or answer holds no text"


def _undone(row: QARow) -> str:
    """Restore what the edits of the answer replaced."""
    text = row.answer
    own = [edit for edit in row.edits if edit.document is None]
    for edit in sorted(own, key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.old + text[edit.end :]
    return text


def _labelled(row: QARow) -> bool:
    return row.source in SOURCES and SOURCES[row.source].labelled


def _duplicates(rows: Sequence[QARow]) -> Iterator[str]:
    """Yield faults of rows of the same words; published ones may repeat with the same label."""
    alike: dict[tuple[str, ...], list[QARow]] = defaultdict(list)
    for row in rows:
        words = (row.question, row.answer, *row.context)
        alike[tuple(" ".join(text.casefold().split()) for text in words)].append(row)
    for first, *others in alike.values():
        for other in others:
            if other.label != first.label:
                yield f"{other.id}: is {other.label}, the same row {first.id} is {first.label}"
            elif not _labelled(other):
                yield f"{other.id}: is the same row as {first.id}"


def _balance(rows: Sequence[QARow]) -> Iterator[str]:
    """Yield sources with synthetic hallucinated answers that are not half FAIL."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if not _labelled(row):
            counts[row.source][row.label or "none"] += 1
    for source, labels in counts.items():
        if abs(labels["PASS"] - labels["FAIL"]) > 1:
            yield f"{source}: {labels['PASS']} PASS and {labels['FAIL']} FAIL, not half and half"


def _against_manifest(path: Path, rows: Sequence[QARow], manifest: Manifest) -> Iterator[str]:
    if sha256_file(path) != manifest.outputs[path.name].sha256:
        yield "the file is not the one that the manifest names: it was changed after the build"
    found = Counter((row.source, row.label) for row in rows)
    for source in manifest.sources:
        for part in source.parts:
            if part.part != path.stem:
                continue
            passes, fails = found[source.source, "PASS"], found[source.source, "FAIL"]
            if (passes, fails) != (part.rows - part.fails, part.fails):
                yield (
                    f"{source.source}: {passes} PASS and {fails} FAIL, but the manifest counts "
                    f"{part.rows - part.fails} and {part.fails}"
                )
