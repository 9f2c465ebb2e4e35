"""Judge a stream of rows into a JSONL file that survives being killed.

Verdicts are appended in the order of the rows, and a verdict is the same bytes every time; so the
file itself says how far a run came. A run started again drops a half-written last line, passes
over the rows that are done and goes on: the file ends the same as that of an undisturbed run. A
side file, `OUTPUT.run.json`, holds what was judged by what, so that two runs are never mixed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from .base import Judge, unscored
from .files import written_whole
from .rows import Row
from .types import BadInput, Example, MoonlynxError, Verdict

BATCH_SIZE = 32


class RunMismatch(MoonlynxError, ValueError):
    """The output file belongs to another run."""


@dataclass
class Tally:
    """What the verdicts written so far say: counts by score, and unscored ones by error code."""

    rows: int = 0
    passed: int = 0
    failed: int = 0
    unscored: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict) -> None:
        """Count one verdict."""
        self.rows += 1
        self.passed += verdict.score == "PASS"
        self.failed += verdict.score == "FAIL"
        if verdict.error is not None:
            self.unscored[verdict.error.code] += 1


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
    """Write one verdict per row to `output`, going on from where an earlier run stopped.

    Args:
        judge: gives the verdicts.
        rows: the rows, from the first; those already done are passed over.
        output: JSONL file, one Verdict a line, in the order of the rows.
        run: what identifies the run (judge, hash of the input, ...).
        batch_size: rows given to the judge, and written, at once.
        timings: JSONL file of seconds per row, apart from the verdicts.
        on_progress: called with the tally so far after every batch.

    Raises:
        RunMismatch: `output` holds verdicts of another run.
    """
    tally = _resume(output, {**identify(judge), **run})
    on_progress(tally)
    rows = islice(rows, tally.rows, None)
    with ExitStack() as stack:
        verdict_file = stack.enter_context(output.open("ab"))
        timing_file = stack.enter_context(timings.open("ab")) if timings else None
        for batch in batches(rows, batch_size):
            started = time.perf_counter()
            verdicts = judge_batch(judge, batch)
            seconds = time.perf_counter() - started
            verdict_file.write(b"".join(to_line(verdict) for verdict in verdicts))
            verdict_file.flush()
            if timing_file is not None:
                _write_timings(timing_file, batch, seconds / len(batch))
            for verdict in verdicts:
                tally.add(verdict)
            on_progress(tally)
    return tally


def identify(judge: Judge) -> dict[str, str]:
    """Say what gives the verdicts: name and version, and the hash of each calibration in use.

    Labels by two thresholds would not go together, so a calibration fitted anew is another run.
    """
    identity = {"judge_name": judge.info.name, "judge_version": judge.info.version}
    calibrations = " ".join(_calibrations(judge))
    return {**identity, "calibration_sha256": calibrations} if calibrations else identity


def judge_batch(judge: Judge, rows: Sequence[Row]) -> list[Verdict]:
    """Judge the rows that can be judged; the others become unscored verdicts in their places."""
    examples = [row.example for row in rows if isinstance(row.example, Example)]
    scored = judge(examples) if examples else []
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


def to_line(verdict: Verdict) -> bytes:
    """Give a verdict as one line of JSON."""
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
    if not path.exists():
        return []
    seconds: dict[int, float] = {}
    with path.open("rb") as file:
        for line in file:
            row = json.loads(line)
            seconds[row["line"]] = row["seconds"]
    return list(seconds.values())


def _calibrations(judge: Judge) -> Iterator[str]:
    """Give the hash of the judge's own calibration and of those of the judges that it asks."""
    calibration = getattr(judge, "calibration", None)
    if calibration is not None:
        yield hashlib.sha256(calibration.model_dump_json().encode("utf-8")).hexdigest()
    for stage in getattr(judge, "stages", ()):
        yield from _calibrations(stage)


def _resume(output: Path, identity: Mapping[str, str]) -> Tally:
    """Make `output` end with a whole line, and count what it holds."""
    manifest = output.with_name(output.name + ".run.json")
    tally = Tally()
    if output.exists() and output.stat().st_size:
        _check_identity(output, manifest, identity)
        whole = 0
        with output.open("r+b") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                tally.add(_read_done(output, line))
                whole += len(line)
            file.truncate(whole)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(manifest) as draft:  # before the first verdict
            draft.write_text(json.dumps(identity, indent=2) + "\n", encoding="utf-8")
    return tally


def _read_done(output: Path, line: bytes) -> Verdict:
    try:
        return Verdict.model_validate_json(line)
    except ValueError:
        raise RunMismatch(f"{output} holds a line that is no verdict; {_advice(output)}") from None


def _advice(output: Path) -> str:
    return f"delete {output} to start anew, or choose another --output"


def _check_identity(output: Path, manifest: Path, identity: Mapping[str, str]) -> None:
    advice = _advice(output)
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise RunMismatch(f"{output} exists, but not as a run to go on with; {advice}") from None
    differing = [key for key in identity if found.get(key) != identity[key]]
    if differing:
        key = differing[0]
        raise RunMismatch(
            f"{output} belongs to a run with another {key.replace('_', ' ')} "
            f"({found.get(key)!r}, now {identity[key]!r}); {advice}"
        )


def batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Give the rows in lists of `size`, the last one shorter."""
    rows = iter(rows)
    while batch := list(islice(rows, size)):
        yield batch


def _write_timings(file: BinaryIO, batch: Sequence[Row], seconds: float) -> None:
    lines = (
        json.dumps({"line": row.line, "id": row.id, "seconds": round(seconds, 6)}) for row in batch
    )
    file.write("".join(line + "\n" for line in lines).encode("utf-8"))
    file.flush()
