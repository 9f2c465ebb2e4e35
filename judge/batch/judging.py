"""Judge a stream of rows into a JSONL file that survives being killed.

Verdicts are in the order of the rows, and a verdict is the same bytes every time: a resumed run
skips the rows that are done (`moonlynx.judge.files.journal`).
"""

import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from ..contract.base import Judge, unscored
from ..contract.correction import CorrectedRow
from ..contract.steps import Progress, finish, steps_of
from ..contract.types import BadInput, Count, Example, Id, MetricVerdict, Record, Verdict
from ..files.journal import read_journal, resume
from ..rows.examples import Row

BATCH_SIZE = 32
T = TypeVar("T")


class Timing(Record):
    """The seconds that a row took."""

    line: Count
    id: Id | None = None
    seconds: float


@dataclass
class Tally:
    """Counts of the verdicts so far: by score, and unscored ones by error code.

    `under_way` is the progress of the rows being judged, where their judge reports it; `outcomes`
    counts what became of answers that are corrected.
    """

    rows: int = 0
    passed: int = 0
    failed: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    under_way: Progress | None = None
    outcomes: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict) -> None:
        """Count one verdict."""
        self.rows += 1
        self.passed += verdict.score == "PASS"
        self.failed += verdict.score == "FAIL"
        if verdict.error is not None:
            self.unscored[verdict.error.code] += 1

    def __str__(self) -> str:
        """Return the counts in one line."""
        counts = f"{self.rows} rows: {self.passed} PASS, {self.failed} FAIL"
        if unscored := ", ".join(f"{n} {code}" for code, n in sorted(self.unscored.items())):
            counts += f", {self.unscored.total()} unscored ({unscored})"
        if self.outcomes:
            listed = (f"{n} {outcome}" for outcome, n in self.outcomes.most_common())
            counts += f"; answers: {', '.join(listed)}"
        return counts


def judge_rows(
    judge: Judge,
    rows: Iterable[Row],
    output: Path,
    *,
    run: Mapping[str, str],
    batch_size: int = BATCH_SIZE,
    timings: Path | None = None,
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Write one verdict per row to `output`, resuming where an earlier run stopped.

    Args:
        judge: returns the verdicts.
        rows: from the first; those already done are skipped.
        output: JSONL file.
        run: what identifies the run beside the judge, such as the input's hash.
        batch_size: rows judged, and written, at once.
        timings: JSONL file of seconds per row, apart from the verdicts.
        on_progress: called with the tally after every batch, and whenever the judge reports.

    Raises:
        InUse: another process is writing `output` or `timings`.
        RunMismatch: `output` holds verdicts of another run, or `timings` something else.
    """
    rows, tally = iter(rows), Tally()
    with ExitStack() as stack:
        journal = stack.enter_context(resume(output, {**identify(judge), **run}))
        times = stack.enter_context(resume(timings)) if timings else None
        for verdict in journal.pass_over(Verdict, rows, id_of):
            tally.add(verdict)
        if times is not None:
            deque(times.read(Timing), maxlen=0)
        on_progress(tally)
        for batch in batches(rows, batch_size):
            started = time.perf_counter()
            verdicts = judge_batch(judge, batch, tally, on_progress)
            seconds = time.perf_counter() - started
            if times is not None:  # first: for a row that is judged again, the last time counts
                times.append(_time_lines(batch, seconds / len(batch)))
            journal.append(map(to_line, verdicts))
            for verdict in verdicts:
                tally.add(verdict)
            on_progress(tally)
    return tally


def identify(judge: Judge) -> dict[str, str]:
    """Return what identifies the verdicts.

    They are its name and version, and the hashes of each calibration and each chat model's weights
    in use: a model that was trained anew in its folder must not go on with a run of the old one.
    """
    identity = {"judge_name": judge.info.name, "judge_version": judge.info.version}
    asked = [*_asked(judge)]
    calibrations = [getattr(one, "calibration", None) for one in asked]
    weights = dict.fromkeys(each for one in asked for each in getattr(one, "weights", ()))
    hashes = {
        "calibration_sha256": " ".join(_sha256(one) for one in calibrations if one is not None),
        "weights_sha256": " ".join(weights),
    }
    return identity | {key: value for key, value in hashes.items() if value}


def judge_batch(
    judge: Judge,
    rows: Sequence[Row],
    tally: Tally | None = None,
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> list[Verdict]:
    """Judge the rows that can be judged; the others become unscored verdicts in their places.

    `on_progress` is called with the tally of the rows before these whenever the judge reports.
    """
    tally = tally or Tally()

    def note(step: Progress) -> None:
        tally.under_way = step
        on_progress(tally)

    examples = [row.example for row in rows if isinstance(row.example, Example)]
    scored = finish(steps_of(judge, examples), note) if examples else []
    tally.under_way = None
    if len(scored) != len(examples):
        fault = f"{judge.info.name} gave {len(scored)} verdicts for {len(examples)} examples"
        raise RuntimeError(fault)
    remaining = iter(scored)
    return [
        unscored(judge.info, row.id, row.example.code, str(row.example))
        if isinstance(row.example, BadInput)
        else next(remaining)
        for row in rows
    ]


def to_line(verdict: Verdict | MetricVerdict | CorrectedRow) -> bytes:
    """Return a verdict, or a corrected row, as one line of JSON."""
    return verdict.model_dump_json().encode("utf-8") + b"\n"


def read_verdicts(path: Path) -> Iterator[Verdict]:
    """Read a verdict file.

    Raises:
        BadInput: a line is not a verdict.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield Verdict.model_validate_json(line)
            except ValueError:
                message = "is not a Verdict; was the file written by `moonlynx judge` or `eval`?"
                raise BadInput("bad_input", f"{path}, line {number}", message) from None


def read_timings(path: Path) -> list[float]:
    """Read the seconds of each row from a file of timings; none where there is no such file.

    Of a row that a stopped run left unfinished and that was judged again, the last time counts.
    """
    return list({row.line: row.seconds for row in read_journal(path, Timing)}.values())


def _asked(judge: Judge) -> Iterator[Judge]:
    """Yield the judge, and all judges that it asks."""
    yield judge
    for stage in getattr(judge, "stages", ()):
        yield from _asked(stage)


def _sha256(record: Record) -> str:
    return hashlib.sha256(record.model_dump_json().encode("utf-8")).hexdigest()


def id_of(row: Row) -> str | int | None:
    """Return the row's id, where it could be read."""
    return row.example.id if isinstance(row.example, Example) else row.id


def batches(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the rows in lists of `size`, the last one shorter."""
    rows = iter(rows)
    while batch := list(islice(rows, size)):
        yield batch


def _time_lines(batch: Sequence[Row], seconds: float) -> Iterator[bytes]:
    for row in batch:
        timing = Timing(line=row.line, id=id_of(row), seconds=round(seconds, 6))
        yield timing.model_dump_json().encode("utf-8") + b"\n"
