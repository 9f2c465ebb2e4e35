"""The commands that fit to labelled rows: `moonlynx calibrate` and `cascade`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..batch.judging import BATCH_SIZE, read_timings, read_verdicts
from ..contract.spec import CascadeSpec, JudgeSpec, parse_spec
from ..contract.types import BadInput, Score, Span
from ..files.atomic import beside, keep_apart
from ..registry import fields_for, find_factory, load_judge
from ..rows.examples import Row, describe, read_rows
from ..rows.fields import FieldMap
from ..terminal.messages import echo
from .inputs import JudgeOption, MapOption, check_rows
from .judge import exit_code, judge_file

app = typer.Typer()
_Gold = tuple[Score, tuple[Span, ...] | None]

DataOption = Annotated[
    Path, typer.Option(exists=True, dir_okay=False, help="Rows with `label`; files as for `judge`.")
]


@app.command()
def calibrate(
    judge_name: JudgeOption,
    data: DataOption,
    output: Annotated[Path, typer.Option(help="JSON file for the calibration.")],
    method: Annotated[
        Literal["temperature", "isotonic"],
        typer.Option(help="temperature: two parameters; isotonic: any rising curve."),
    ] = "temperature",
    map_: MapOption = None,
    objective: Annotated[
        str, typer.Option(help="What the threshold is chosen for; or precision>=P.")
    ] = "balanced-accuracy",
    batch_size: Annotated[int, typer.Option(min=1, help="Rows judged at once.")] = BATCH_SIZE,
) -> None:
    """Fit a judge's threshold and probability to labelled rows of your own.

    Use it as --judge "NAME?calibration=FILE". Its verdicts stay in FILE.verdicts.jsonl, from which
    an interrupted run resumes.
    """
    # Calibration imports numpy, which the other commands start without.
    from ..decision.calibration import fit_calibration, fit_parts
    from ..decision.lengths import Lengths
    from ..files.stored import save_record
    from ..judges.screen import unpinned

    keep_apart({"--output": output, "--data": data})
    verdicts = beside(output, ".verdicts.jsonl")
    spec = parse_spec(judge_name)
    fields = fields_for(spec, FieldMap.parse(map_ or ()))
    gold = _read_gold(data, fields)
    judge = load_judge(spec)
    tally = judge_file(judge, spec, data, verdicts, batch_size, fields=fields)
    found = list(read_verdicts(verdicts))
    by_length = isinstance(spec, JudgeSpec) and find_factory(spec.name).by_length
    calibration = fit_calibration(
        unpinned(judge.info),
        [verdict.raw_score for verdict in found],
        [label for label, _ in gold],
        method=method,
        objective=objective,
        data_sha256=describe(data).sha256,
        lengths=Lengths.of(found, list(map(str, range(len(found))))) if by_length else None,
    )
    save_record(fit_parts(calibration, found, [spans for _, spans in gold], method), output)
    echo(
        f"threshold {calibration.threshold:g} for {objective}, fitted on {calibration.rows} rows "
        f"({calibration.fails} FAIL); {calibration.rows_without_score} without a raw score",
        err=True,
    )
    raise typer.Exit(exit_code(tally))


@app.command()
def cascade(
    judge_name: Annotated[
        str, typer.Option("--judge", help="A cascade of two judges, as in 'cascade(luna,lynx)'.")
    ],
    data: DataOption,
    output: Annotated[Path, typer.Option(help="JSON file for the policy.")],
    budget: Annotated[
        str | None,
        typer.Option(help="share<=S deferred, money<=M for 1,000 answers, or p95<=SECONDS."),
    ] = None,
    risk: Annotated[
        float | None,
        typer.Option(help="Or: the share of wrong verdicts among those of the first judge."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Goes with --risk.")] = 0.95,
    objective: Annotated[
        Literal["accuracy", "balanced-accuracy"],
        typer.Option(help="What is to be best within the budget."),
    ] = "accuracy",
    prices: Annotated[
        Path | None, typer.Option(help="Price table (default: the package's own).")
    ] = None,
    map_: MapOption = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows judged at once.")] = BATCH_SIZE,
) -> None:
    """Fit where a cascade's first judge is unsure to labelled rows of your own.

    Use it as --judge "cascade(A,B)?policy=FILE". Its verdicts stay beside FILE, from which an
    interrupted run resumes. With --risk the second judge is not asked.
    """
    # The policy imports numpy, which the other commands start without.
    from ..decision.cost import load_prices
    from ..decision.policy import Budget, Rows, fit_budget, fit_risk
    from ..files.stored import save_record

    if (budget is None) == (risk is None):
        raise typer.BadParameter("give --budget or --risk, one of the two")
    spec = parse_spec(judge_name)
    if not isinstance(spec, CascadeSpec) or len(spec.stages) != 2 or "policy" in spec.options:
        raise typer.BadParameter("--judge is a cascade of two judges, without policy=")
    limit = None if budget is None else Budget.parse(budget)
    keep_apart({"--output": output, "--data": data, "--prices": prices})
    table, fields = load_prices(prices), FieldMap.parse(map_ or ())
    labels = [label for label, _ in _read_gold(data, fields)]
    verdicts, seconds = [], []
    for number, stage in enumerate(spec.stages[: 1 if limit is None else 2], start=1):
        path = beside(output, f".stage-{number}.jsonl")
        timings = path.with_suffix(".timings.jsonl")
        # The time of one answer is not its share of a batch's.
        size = 1 if limit is not None and limit.kind == "p95" else batch_size
        judge_file(load_judge(stage), stage, data, path, size, timings, fields)
        verdicts.append(list(read_verdicts(path)))
        seconds.append(read_timings(timings))
    rows = Rows(verdicts[0], labels, describe(data).sha256)
    if limit is None:
        assert risk is not None
        policy = fit_risk(rows, risk=risk, confidence=confidence)
    else:
        policy = fit_budget(
            rows,
            verdicts[1],
            limit.spending(verdicts[0], verdicts[1], seconds[0], seconds[1], table),
            objective=objective,
            on_failure=spec.options.get("on-failure", "unscored"),
            budget=str(limit),
        )
    save_record(policy, output)
    echo(
        f"kept: {policy.kept()} ({policy.chosen_for}); {100 * policy.handed_on:.1f} % of "
        f"{policy.rows} rows are deferred",
        err=True,
    )


def _read_gold(data: Path, fields: FieldMap) -> list[_Gold]:
    """Return each row's label and spans; raises BadInput without a label, or without rows."""
    gold = [_read_row(row) for row in read_rows(data, fields)]
    check_rows(len(gold), data)
    return gold


def _read_row(row: Row) -> _Gold:
    if isinstance(row.example, BadInput):
        raise row.example
    if row.example.label is None:
        message = "is missing; give PASS or FAIL"
        raise BadInput("bad_input", f"{row.unit} {row.line}, label", message)
    return row.example.label, row.example.spans
