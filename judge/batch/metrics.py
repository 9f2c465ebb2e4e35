"""Metrics over a file of inputs, into a JSONL file that survives being killed.

Verdicts are appended in the order of the rows, of a row in that of the metrics, and a verdict is
the same bytes every time; a run started again skips what is done (`moonlynx.judge.files.journal`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..contract.types import BadInput, JudgeError, MetricInput, MetricVerdict, first_fault
from ..files.journal import resume
from ..metrics.encoder import heads_in
from ..metrics.grounded import ADHERENCE, JudgeMetric
from ..metrics.loading import NAME, load_metric
from ..metrics.metric import Metric
from ..metrics.prompt import fault_of
from ..registry import load_judge
from ..rows.fields import AS_NAMED, FieldMap
from ..rows.formats import read_raw
from ..rows.names import listed
from .judging import batches, to_line

MetricRow = MetricInput | BadInput  # a row of a file, or what is wrong with it
Task = tuple[MetricRow, Metric]
ALL = "all"
_ADHERENCE = f"{NAME}:{ADHERENCE}"


def load_metrics(name: str) -> list[Metric]:
    """Load the metric of that name, or those that run in this process without torch for `all`.

    Context adherence on the encoder is the judge luna. Raises as `load_metric` and
    `load_judge`.
    """
    if name == ALL:
        names = sorted([*heads_in(), ADHERENCE])
        return [metric for each in names for metric in load_metrics(f"{NAME}:{each}")]
    return [JudgeMetric(load_judge("luna")) if name == _ADHERENCE else load_metric(name)]


def tasks_of(metrics: Sequence[Metric], rows: Iterable[MetricRow]) -> Iterator[Task]:
    """Yield each row with the metrics that it has the fields of; one without any with all."""
    for row in rows:
        fitting = [
            metric
            for metric in metrics
            if isinstance(row, BadInput) or fault_of(metric.definition, row) is None
        ]
        yield from ((row, metric) for metric in fitting or metrics)


def measure_tasks(tasks: Sequence[Task]) -> list[MetricVerdict]:
    """Run each metric over its rows, and return the verdicts in the order of the tasks.

    Heads on the encoder share the pass over a text that several of them read.
    """
    found: dict[int, MetricVerdict] = {}
    for metric in {id(metric): metric for _, metric in tasks}.values():
        places = [place for place, task in enumerate(tasks) if task[1] is metric]
        verdicts = measure_rows(metric, [tasks[place][0] for place in places])
        found |= dict(zip(places, verdicts, strict=True))
    return [found[place] for place in range(len(tasks))]


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
    metrics: Sequence[Metric],
    path: Path,
    output: Path,
    *,
    sha256: str,
    batch_size: int,
    fields: FieldMap = AS_NAMED,
) -> Counter[str]:
    """Write the verdicts on each row to `output`, resuming where an earlier run stopped.

    Returns:
        Verdicts by outcome: "scored", or the error's code.

    Raises:
        InUse: another process is writing `output`.
        RunMismatch: `output` holds verdicts of another run.
    """
    names = ", ".join(f"{metric.info.name} {metric.info.version}" for metric in metrics)
    run = {"metric": names, "input_sha256": sha256}
    with resume(output, run | fields.stated()) as journal:
        tasks = tasks_of(metrics, read_inputs(path, fields))
        done = journal.pass_over(MetricVerdict, tasks, _id_of)
        counts = Counter(map(outcome, done))
        for batch in batches(tasks, batch_size):
            verdicts = measure_tasks(batch)
            journal.append(map(to_line, verdicts))
            counts.update(map(outcome, verdicts))
    return counts


def _id_of(task: Task) -> str | int | None:
    return task[0].id if isinstance(task[0], MetricInput) else None


def outcome(verdict: MetricVerdict) -> str:
    """Return "scored", or the code of the verdict's error."""
    return "scored" if verdict.error is None else verdict.error.code
