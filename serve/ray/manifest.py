"""What a run on a cluster has done, partition by partition, and its verdicts so far.

Beside the output is a folder `OUTPUT.parts`: a file of verdicts for each finished partition, and
`manifest.jsonl`: the run, then a line for each of them with its hash. A file without that hash is
judged again, so the folder may be copied, cut off or lose files.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from moonlynx.judge.batch.judging import Tally
from moonlynx.judge.contract.types import Record, Verdict
from moonlynx.judge.files.journal import RunMismatch, check_run

from .partitions import locate


class Run(Record):
    """What identifies a run: its input, its judge, and how the input is cut."""

    input_sha256: str
    rows: int
    partition_rows: int
    spec: str
    judge_name: str
    judge_version: str
    calibration_sha256: str = ""
    weights_sha256: str = ""
    map: str = ""


class Done(Record):
    """A finished partition: its file in the folder, and the counts of its verdicts."""

    partition: int
    file: str
    sha256: str
    rows: int
    passed: int
    failed: int
    unscored: dict[str, int]


class Manifest:
    """The finished partitions of a run. One process writes it."""

    def __init__(self, output: str, run: Run) -> None:
        """Start a run, or find what an earlier one has done."""
        self._system, self._output = locate(output)
        self._folder = f"{self._output}.parts"
        self._path = f"{self._folder}/manifest.jsonl"
        self._run = run
        self.done: dict[int, Done] = {}
        if self._system.exists(self._path):
            self._find()
        elif self._system.exists(self._output):
            raise RunMismatch(self._output, f"exists, but {self._folder} does not say of which run")
        self._system.makedirs(self._folder, exist_ok=True)
        self._write()

    def tally(self) -> Tally:
        """Count the verdicts of the finished partitions."""
        tally = Tally()
        for done in self.done.values():
            tally.rows += done.rows
            tally.passed += done.passed
            tally.failed += done.failed
            tally.unscored.update(done.unscored)
        return tally

    def add(self, partition: int, lines: bytes) -> None:
        """Keep the verdicts of a partition: whole lines, in the order of its rows."""
        tally = Tally()
        for line in lines.splitlines():
            tally.add(Verdict.model_validate_json(line))
        name = f"part-{partition:06d}.jsonl"
        self._system.pipe_file(f"{self._folder}/{name}", lines)
        self.done[partition] = Done(
            partition=partition,
            file=name,
            sha256=hashlib.sha256(lines).hexdigest(),
            rows=tally.rows,
            passed=tally.passed,
            failed=tally.failed,
            unscored=dict(sorted(tally.unscored.items())),
        )
        self._write()

    def join(self) -> None:
        """Write the output from the verdicts of all partitions, in the order of the input."""
        parts = (
            self._system.cat_file(f"{self._folder}/{self.done[number].file}")
            for number in sorted(self.done)
        )
        with self._replacing(self._output) as file:
            if self._output.endswith(".parquet"):
                _write_parquet(parts, file)
            else:
                file.writelines(parts)

    @contextmanager
    def _replacing(self, path: str) -> Iterator[Any]:
        """Write a file whole or not at all."""
        draft = f"{path}.tmp"
        with self._system.open(draft, "wb") as file:
            yield file
        self._system.mv(draft, path)

    def _write(self) -> None:
        records: list[Record] = [self._run, *(self.done[number] for number in sorted(self.done))]
        with self._replacing(self._path) as file:
            file.writelines(record.model_dump_json().encode() + b"\n" for record in records)

    def _find(self) -> None:
        first, *rest = self._system.cat_file(self._path).splitlines() or [b""]
        try:
            found = Run.model_validate_json(first)
            dones = [Done.model_validate_json(line) for line in rest]
        except ValidationError:
            raise RunMismatch(self._folder, "was not written by this command") from None
        check_run(self._folder, dict(found), dict(self._run))
        self.done = {done.partition: done for done in dones if self._is_whole(done)}

    def _is_whole(self, done: Done) -> bool:
        try:
            with self._system.open(f"{self._folder}/{done.file}", "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == done.sha256
        except FileNotFoundError:
            return False


def _write_parquet(parts: Iterable[bytes], file: Any) -> None:
    """Write verdicts, given as lines of JSON, one row each and one row group per part."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    names = ("id", "score", "error", "judge", "verdict")
    numbers = ("probability", "raw_score")
    schema = pa.schema(
        [(name, pa.string()) for name in names] + [(name, pa.float64()) for name in numbers]
    )
    with ParquetWriter(file, schema) as writer:
        for part in parts:
            rows = [_row(line) for line in part.splitlines()]
            writer.write_table(pa.Table.from_pylist(rows, schema))


def _row(line: bytes) -> dict[str, str | float | None]:
    verdict = Verdict.model_validate_json(line)
    return {  # the id is text, as rows may have ids of both kinds
        "id": None if verdict.id is None else str(verdict.id),
        "score": verdict.score,
        "error": None if verdict.error is None else verdict.error.code,
        "judge": verdict.judge.name,
        "verdict": line.decode(),
        "probability": verdict.probability,
        "raw_score": verdict.raw_score,
    }
