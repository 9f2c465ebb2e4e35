"""Metrics over a file of inputs, into a JSONL file that survives being killed.

Verdicts are appended in the order of the rows, and a verdict is the same bytes every time. A run
started again drops a half-written last line, passes over the rows that are done and goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from .files import written_whole
from .journal import check_run, end_with_whole_line, read_journal
from .luna2.metric import Metric
from .types import BadInput, JudgeError, MetricInput, MetricVerdict, Record, first_fault

_IDENTITY = ".run.json"


class MetricRun(Record):
    """What identifies a run, in `OUTPUT.run.json`.

    Attributes:
        metric: name and version of what decides.
        input_sha256: hash of the input file.
    """

    metric: str
    input_sha256: str


class MetricRow(NamedTuple):
    """One row of a file: an input, or what is wrong with it."""

    line: int
    input: MetricInput | BadInput


def read_inputs(lines: Iterable[bytes]) -> Iterator[MetricRow]:
    """Read JSON objects with the fields of a MetricInput, one a line; blank lines are passed over.

    Fields that a MetricInput does not have (labels, say) are left aside. `input` and `output` may
    each be left out, but not both.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield MetricRow(number, read_input(_parse(line)))
            except BadInput as error:
                field = f"line {number}, {error.field}"
                yield MetricRow(number, BadInput(error.code, field, error.message))


def _parse(line: bytes) -> Any:
    from pydantic_core import from_json

    try:
        return from_json(line)
    except ValueError as error:
        raise BadInput("bad_input", "row", f"is not a JSON object ({error})") from None


def read_input(raw: Any) -> MetricInput:
    """Read the input that a JSON object holds.

    Raises:
        BadInput: it is no object, or has neither `input` nor `output`, or a field is wrong.
    """
    if not isinstance(raw, dict):
        raise BadInput("bad_input", "row", f"must be a JSON object, got {type(raw).__name__}")
    known = {name: value for name, value in raw.items() if name in MetricInput.model_fields}
    if "input" not in known and "output" not in known:
        raise BadInput("bad_input", "input", "is missing, and so is output; give one of them")
    try:
        return MetricInput.model_validate({"input": "", "output": ""} | known)
    except ValidationError as error:
        field, message = first_fault(error, "row")
        raise BadInput("bad_input", field, message) from None


def measure_rows(metric: Metric, rows: Sequence[MetricRow]) -> list[MetricVerdict]:
    """Run the metric over the rows that can be read; the others become errors in their places."""
    inputs = [row.input for row in rows if isinstance(row.input, MetricInput)]
    verdicts = iter(metric(inputs) if inputs else ())
    return [
        MetricVerdict(
            metric=metric.definition.name,
            error=JudgeError(code=row.input.code, message=str(row.input)),
        )
        if isinstance(row.input, BadInput)
        else next(verdicts)
        for row in rows
    ]


def measure_file(
    metric: Metric, path: Path, output: Path, *, sha256: str, batch_size: int
) -> Counter[str]:
    """Write one verdict per row to `output`, going on from where an earlier run stopped.

    Args:
        metric: gives the verdicts.
        path: JSONL of inputs.
        output: JSONL file, one MetricVerdict a line, in the order of the rows.
        sha256: hash of the input file.
        batch_size: rows given to the metric, and written, at once.

    Returns:
        Rows by outcome: "scored", or the error's code.

    Raises:
        RunMismatch: `output` holds verdicts of another run.
    """
    run = MetricRun(metric=f"{metric.info.name} {metric.info.version}", input_sha256=sha256)
    counts = _resume(output, run)
    with path.open("rb") as lines, output.open("ab") as file:
        rows = islice(read_inputs(lines), counts.total(), None)
        while batch := list(islice(rows, batch_size)):
            verdicts = measure_rows(metric, batch)
            file.write(b"".join(to_line(verdict) for verdict in verdicts))
            file.flush()
            counts.update(outcome(verdict) for verdict in verdicts)
    return counts


def outcome(verdict: MetricVerdict) -> str:
    """Give "scored", or the code of the verdict's error."""
    return "scored" if verdict.error is None else verdict.error.code


def to_line(verdict: MetricVerdict) -> bytes:
    """Give a verdict as one line of JSON."""
    return verdict.model_dump_json().encode("utf-8") + b"\n"


def _resume(output: Path, run: MetricRun) -> Counter[str]:
    """Make `output` end with a whole line, and count what it holds."""
    identity = output.with_name(output.name + _IDENTITY)
    if output.exists() and output.stat().st_size:
        found = next(read_journal(identity, MetricRun), MetricRun(metric="none", input_sha256=""))
        check_run(output, found, run)
        end_with_whole_line(output)
        return Counter(outcome(verdict) for verdict in read_journal(output, MetricVerdict))
    output.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(identity) as draft:  # before the first verdict
        draft.write_text(run.model_dump_json() + "\n", encoding="utf-8")
    return Counter()
