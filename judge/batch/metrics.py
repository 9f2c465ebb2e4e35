"""Metrics over a file of inputs, into a JSONL file that survives being killed.

Verdicts are appended in the order of the rows, and a verdict is the same bytes every time; a run
started again skips the rows that are done (`moonlynx.judge.files.journal`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..contract.types import BadInput, JudgeError, MetricInput, MetricVerdict, first_fault
from ..files.journal import resume
from ..metrics.metric import Metric
from ..rows.fields import AS_NAMED, FieldMap
from ..rows.formats import read_raw
from ..rows.names import listed
from .judging import batches, to_line

MetricRow = MetricInput | BadInput  # a row of a file, or what is wrong with it


def read_inputs(path: Path, fields: FieldMap = AS_NAMED) -> Iterator[MetricRow]:
    """Read the rows of a file, or of standard input (`-`), as inputs of a metric.

    Raises:
        BadInput, MissingExtra, OSError: the file cannot be read, as `formats.read_raw` says.
    """
    for raw in read_raw(path):
        try:
            yield read_input(raw.parse(), fields)
        except BadInput as error:
            field = f"{raw.unit} {raw.number}, {error.field}"
            yield BadInput(error.code, field, error.message)


def read_input(raw: Any, fields: FieldMap = AS_NAMED) -> MetricInput:
    """Read an input by whatever names its fields have; those of no MetricInput are ignored.

    Raises:
        BadInput: it is no object, or has neither `input` nor `output`, or a field is wrong.
    """
    if not isinstance(raw, Mapping):
        raise BadInput("bad_input", "row", f"must be a JSON object, got {type(raw).__name__}")
    known = fields.pick(raw, MetricInput)
    if "input" not in known and "output" not in known:
        found = f"found {listed(raw) or 'nothing'}"
        message = f"is missing, and so is output; give one of them; {found}"
        raise BadInput("bad_input", "input", f"{message}, or --map input=NAME")
    try:
        return MetricInput.model_validate({"input": "", "output": ""} | known)
    except ValidationError as error:
        field, message = first_fault(error, "row")
        raise BadInput("bad_input", field, message) from None


def measure_rows(metric: Metric, rows: Sequence[MetricRow]) -> list[MetricVerdict]:
    """Run the metric over the rows that can be read; the others become errors in their places."""
    inputs = [row for row in rows if isinstance(row, MetricInput)]
    verdicts = iter(metric(inputs) if inputs else ())
    name = metric.definition.name
    return [
        next(verdicts)
        if isinstance(row, MetricInput)
        else MetricVerdict(metric=name, error=JudgeError(code=row.code, message=str(row)))
        for row in rows
    ]


def measure_file(
    metric: Metric,
    path: Path,
    output: Path,
    *,
    sha256: str,
    batch_size: int,
    fields: FieldMap = AS_NAMED,
) -> Counter[str]:
    """Write one verdict per row to `output`, resuming where an earlier run stopped.

    Returns:
        Rows by outcome: "scored", or the error's code.

    Raises:
        InUse: another process is writing `output`.
        RunMismatch: `output` holds verdicts of another run.
    """
    run = {"metric": f"{metric.info.name} {metric.info.version}", "input_sha256": sha256}
    with resume(output, run | fields.stated()) as journal:
        rows = read_inputs(path, fields)
        done = journal.pass_over(MetricVerdict, rows, _id_of)
        counts = Counter(map(outcome, done))
        for batch in batches(rows, batch_size):
            verdicts = measure_rows(metric, batch)
            journal.append(map(to_line, verdicts))
            counts.update(map(outcome, verdicts))
    return counts


def _id_of(row: MetricRow) -> str | int | None:
    return row.id if isinstance(row, MetricInput) else None


def outcome(verdict: MetricVerdict) -> str:
    """Return "scored", or the code of the verdict's error."""
    return "scored" if verdict.error is None else verdict.error.code
