"""Records as JSON Lines: files to read, and files from which a killed run resumes.

`resume` is the one way to write the latter. The file is locked while a run writes it. A run started
again drops a half-written last line, reads what is done and appends the rest: the file ends the
same as that of an undisturbed run. What identifies the run is in each record, or in a run record
beside the file, `PATH.run.json`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from ..contract.correction import CorrectedRow
from ..contract.types import BadInput, MetricVerdict, MoonlynxError, Record, Verdict, first_fault
from .atomic import held, written_whole

AnyRecord = TypeVar("AnyRecord", bound=Record)
AnyVerdict = TypeVar("AnyVerdict", Verdict, MetricVerdict, CorrectedRow)
Row = TypeVar("Row")


class RunMismatch(MoonlynxError, ValueError):
    """A file or folder from which this run cannot resume."""

    def __init__(self, path: object, why: str) -> None:
        super().__init__(f"{path} {why}; delete {path} to start anew, or choose another --output")


class Journal:
    """A file of records that is open and locked: first read to its end, then appended to."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        """Use a file that is at its start; one that cannot be read holds nothing yet."""
        self.path = path
        self._file = file

    def read(self, kind: type[AnyRecord]) -> Iterator[AnyRecord]:
        """Yield the records that are there; then cut off a half-written last line.

        Raises:
            RunMismatch: a line is no such record.
        """
        if self._file.readable():
            whole = 0
            for line, record in _whole_lines(self.path, self._file, kind):
                whole += len(line)
                yield record
            self._file.truncate(whole)

    def pass_over(
        self, kind: type[AnyVerdict], rows: Iterator[Row], id_of: Callable[[Row], object]
    ) -> Iterator[AnyVerdict]:
        """Yield the verdicts that are there, and take the row of each from `rows`.

        Raises:
            RunMismatch: a line is no such verdict, or not that of the row in its place.
        """
        for number, verdict in enumerate(self.read(kind), start=1):
            for row in rows:
                if verdict.id != id_of(row):
                    why = f"holds, in line {number}, a verdict on row {verdict.id!r}"
                    raise RunMismatch(self.path, f"{why} where row {id_of(row)!r} belongs")
                break
            else:
                raise RunMismatch(self.path, f"holds more than the {number - 1} rows of the input")
            yield verdict

    def append(self, lines: Iterable[bytes]) -> None:
        """Write lines, and flush them to the operating system."""
        self._file.write(b"".join(lines))
        self._file.flush()


@contextmanager
def resume(path: Path, run: Mapping[str, str] | None = None) -> Iterator[Journal]:
    """Open a file of records to resume, for this process alone.

    Args:
        path: the file, created with its folder if missing. What is no regular file, such as
            /dev/null, is only appended to: it has no lock and no run record.
        run: what identifies the run, for the run record; None where each record does.

    Raises:
        InUse: another process is writing the file; says which.
        RunMismatch: the file belongs to another run.
        OSError: the file cannot be written.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield Journal(path, file)
        return
    with held(path):
        if run is not None:
            _check_run_record(path, run)
        with path.open("a+b") as file:
            file.seek(0)
            yield Journal(path, file)


def _check_run_record(path: Path, run: Mapping[str, str]) -> None:
    """Compare the run record with the run; where there is nothing to resume, write it."""
    real = path.resolve()
    run_record = real.with_name(f"{real.name}.run.json")
    if not real.exists() or not real.stat().st_size:
        with written_whole(run_record) as draft:  # before the first record
            draft.write_text(json.dumps(dict(run), indent=2) + "\n", encoding="utf-8")
        return
    try:
        found = json.loads(run_record.read_text(encoding="utf-8"))
        names = dict.fromkeys([*run, *found.keys()])  # one that is no longer stated differs too
        then = {name: found.get(name) for name in names}
        check_run(path, then, {name: run.get(name) for name in names})
    except FileNotFoundError:
        raise RunMismatch(path, f"was not written by this command: no {run_record.name}") from None
    except (AttributeError, RecursionError, json.JSONDecodeError, UnicodeDecodeError):
        raise RunMismatch(path, f"has a broken run record, {run_record.name}") from None


def check_run(path: object, found: Mapping[str, object], run: Mapping[str, object]) -> None:
    """Compare what identifies a run, as it was found, with the run that is to resume.

    Raises:
        RunMismatch: they differ; names the field.
    """
    for name, now in run.items():
        if (then := found[name]) != now:
            kind = name.replace("_", " ")
            raise RunMismatch(path, f"belongs to a run with another {kind} ({then!r}, now {now!r})")


def read_journal(path: Path, kind: type[AnyRecord]) -> Iterator[AnyRecord]:
    """Read such a file as it is now, where there is one; a half-written last line does not count.

    Raises:
        RunMismatch: a line is no such record.
    """
    if path.exists():
        with path.open("rb") as file:
            for _, record in _whole_lines(path, file, kind):
                yield record


def _whole_lines(
    path: Path, file: BinaryIO, kind: type[AnyRecord]
) -> Iterator[tuple[bytes, AnyRecord]]:
    for number, line in enumerate(file, start=1):
        whole = line.endswith(b"\n")
        if not whole and _may_be_cut_off(line):
            return
        try:
            record = kind.model_validate_json(line)
        except ValueError:
            why = f"was not written by this command: line {number} is no {kind.__name__}"
            raise RunMismatch(path, why) from None
        if whole:
            yield line, record


def _may_be_cut_off(line: bytes) -> bool:
    """Return whether a line without an end is the start of a record, not all of another file."""
    try:
        from_json(line)
    except ValueError:
        return line.startswith(b"{")
    return False


def read_records(path: Path, kind: type[AnyRecord]) -> list[AnyRecord]:
    """Read the records of a file; blank lines are skipped.

    Raises:
        BadInput: a line is no such record; names line and field.
        OSError: the file cannot be read.
    """
    records = []
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                if line.strip():
                    records.append(kind.model_validate_json(line))
            except ValidationError as error:
                field, message = first_fault(error, "row")
                raise BadInput("bad_input", f"{path}, line {number}, {field}", message) from None
    return records


def to_line(record: Record) -> bytes:
    """Return a record as one line of JSON; fields without a value are left out."""
    return record.model_dump_json(exclude_none=True).encode("utf-8") + b"\n"
