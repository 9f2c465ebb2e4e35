"""Records as JSON Lines: files to read, and journals that survive a run's being killed.

Each record of a journal names the run that it belongs to. A run started again drops a half-written
last line, passes over what is done and goes on; two runs are never mixed in one file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from .batch import RunMismatch
from .types import BadInput, Record, first_fault

AnyRecord = TypeVar("AnyRecord", bound=Record)


def read_records(path: Path, kind: type[AnyRecord]) -> list[AnyRecord]:
    """Read the records of a file; blank lines are passed over.

    Raises:
        BadInput: a line is no such record; names line and field.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return [
            _read(path, number, line, kind) for number, line in enumerate(file, 1) if line.strip()
        ]


def _read(path: Path, number: int, line: bytes, kind: type[AnyRecord]) -> AnyRecord:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        field, message = first_fault(error, "row")
        raise BadInput("bad_input", f"{path}, line {number}, {field}", message) from None


def read_journal(path: Path, kind: type[AnyRecord]) -> Iterator[AnyRecord]:
    """Read the records of a file that may not exist yet; a half-written last line does not count.

    Raises:
        RunMismatch: a line is no such record.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield kind.model_validate_json(line)
            except ValueError:
                message = f"{path}, line {number}: was not written by this command"
                raise RunMismatch(f"{message}; {_advice(path)}") from None


def check_run(path: Path, found: Record, run: Record) -> None:
    """Compare what identifies a run, as a file has it, with the run that wants to go on.

    Raises:
        RunMismatch: they differ; names the field.
    """
    for name in type(run).model_fields:
        then, now = getattr(found, name), getattr(run, name)
        if then != now:
            kind = name.replace("_", " ")
            message = f"{path} belongs to a run with another {kind} ({then!r}, now {now!r})"
            raise RunMismatch(f"{message}; {_advice(path)}")


def end_with_whole_line(path: Path) -> None:
    """Cut off a half-written last line."""
    if path.exists():
        with path.open("r+b") as file:
            file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))


def to_line(record: Record) -> bytes:
    """Give a record as one line of JSON; fields without a value are left out."""
    return record.model_dump_json(exclude_none=True).encode("utf-8") + b"\n"


def _advice(path: Path) -> str:
    return f"delete {path} to start anew, or choose another --output"
