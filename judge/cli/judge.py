"""The commands that judge: `moonlynx judge`, `judges` and `calibrate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Protocol

import typer
from rich.table import Table

from ..batch.judging import BATCH_SIZE, Tally, judge_rows, read_timings, read_verdicts
from ..contract.base import Judge
from ..contract.spec import CascadeSpec, JudgeSpec, parse_spec
from ..contract.types import BadInput, ExitCode, Score, Verdict
from ..files.atomic import beside, keep_apart
from ..registry import CASCADE, DEFAULT_JUDGE, all_factories, load_judge
from ..rows.examples import Row, Source, describe, read_rows
from ..rows.fields import AS_NAMED, FieldMap
from ..rows.formats import kept
from ..terminal.messages import Terminal, echo, make_folder
from ..terminal.progress import judge_visibly, progress_bar
from ..terminal.show import render
from .inputs import FILES_HELP, MapOption, rows_asked_for, say_notes
from .metric import app as metric_app

app = typer.Typer()
app.add_typer(metric_app)


class Format(StrEnum):
    """How verdicts are printed."""

    RICH = "rich"
    JSON = "json"
    LYNX = "lynx"


class Engine(Protocol):
    """Judges a file of rows outside this process."""

    def __call__(
        self,
        judge_name: str,
        source: str,
        output: str,
        options: Mapping[str, str],
        address: str | None,
        fields: FieldMap,
    ) -> Tally:
        """Write a verdict per row of `source`, path or URL, to `output`; count the verdicts."""
        ...


# By name; filled where the command line is assembled, from layers above this one.
ENGINES: dict[str, Engine] = {}

LabelledOption = Annotated[
    Path, typer.Option(exists=True, dir_okay=False, help="Rows with `label`; files as for `judge`.")
]
JudgeOption = Annotated[
    str, typer.Option("--judge", help="Name of the judge; `moonlynx judges` lists them.")
]


@app.command()
def judge(
    question: Annotated[str, typer.Option(help="The question that was asked.")] = "",
    context: Annotated[
        list[str] | None,
        typer.Option(help="A document: a file, its text, or - for standard input. Repeatable."),
    ] = None,
    answer: Annotated[
        str | None, typer.Option(help="The answer to judge, or - for standard input.")
    ] = None,
    input_file: Annotated[
        str | None,
        typer.Option("--input", metavar="FILE", help=FILES_HELP),
    ] = None,
    map_: MapOption = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="JSONL file for the verdicts; an interrupted run goes on from it.",
        ),
    ] = None,
    judge_name: JudgeOption = DEFAULT_JUDGE,
    abstain_at: Annotated[
        float | None,
        typer.Option(
            help="Leave unscored what cannot be passed with at most this share of hallucinated "
            "answers among those passed; needs a calibration.",
        ),
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Put the rule tier before the judge: ?rules=on.")
    ] = False,
    languages: Annotated[
        Literal["warn", "strict"] | None,
        typer.Option(
            help="Of a text in a language that the judge does not read: judge it with a warning "
            "(the default), or leave it unscored: ?languages=strict.",
        ),
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="How to print (default: rich on a terminal, else json)."),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows judged at once.")] = BATCH_SIZE,
    timings: Annotated[
        Path | None, typer.Option(help="JSONL file for the seconds each row took.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Where --input is judged: here, or on a cluster by 'ray', as in "
            "'ray?workers=8&gpus=1'; then --input and --output are .jsonl or .parquet, and may be "
            "URLs such as s3://BUCKET/KEY.",
        ),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Of the cluster (default: one on this machine alone).")
    ] = None,
    fail_on_hallucination: Annotated[
        bool,
        typer.Option(
            "--fail-on-hallucination",
            help="End with 4 if an answer FAILs, with 2 if there is none.",
        ),
    ] = False,
    require_rows: Annotated[
        bool, typer.Option("--require-rows", help="End with 2 if there are no rows.")
    ] = False,
) -> None:
    """Judge whether answers are supported by the documents they were given.

    One answer by --context and --answer, many by --input, or rows from standard input.
    """
    if output is None and timings is not None:
        raise typer.BadParameter("--timings goes with --output")
    if engine is None and address is not None:
        raise typer.BadParameter("--address goes with --engine")
    fields = FieldMap.parse(map_ or ())
    path = None if input_file is None else Path(input_file)
    if engine is None:
        verdicts = None if output is None else Path(output)
        keep_apart({"--timings": timings, "--output": verdicts, "--input": path})
    judge_name = _with_options(judge_name, abstain_at, rules, languages)
    if engine is not None:
        if input_file is None or output is None or timings is not None:
            raise typer.BadParameter("--engine goes with --input and --output, without --timings")
        tally = _judge_elsewhere(engine, judge_name, input_file, output, address, fields)
    elif output is not None:
        if path is None:
            raise typer.BadParameter("--output goes with --input")
        loaded = load_judge(judge_name)
        with kept(path) as file:
            source = describe(file)
            tally = _judge_file(
                loaded, judge_name, file, source, Path(output), batch_size, timings, fields
            )
    else:
        rows = rows_asked_for(question, context, answer, path, fields)
        tally = _print_verdicts(load_judge(judge_name), rows, batch_size, format_)
    say_notes(fields)
    if require_rows or fail_on_hallucination:
        _check_rows(tally.rows, "standard input" if input_file is None else input_file)
    raise typer.Exit(_exit_code(tally, fail_on_hallucination))


@app.command()
def judges() -> None:
    """List the judges, what each needs and whether it can run here."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, factory in all_factories():
        here = "yes" if not factory.missing() else f"no: pip install 'moonlynx[{factory.extra}]'"
        table.add_row(name, factory.summary + (" (default)" if name == DEFAULT_JUDGE else ""))
        table.add_row("", f"needs {factory.needs}; runs here: {here}", style="dim")
    table.add_row("cascade", CASCADE)
    table.add_row(
        "",
        "needs judges that abstain, or a policy: cascade(luna?abstain=0.1,lynx@URL)",
        style="dim",
    )
    Terminal().print(table)


@app.command()
def calibrate(
    judge_name: JudgeOption,
    data: LabelledOption,
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
    from ..decision.calibration import fit_calibration
    from ..files.stored import save_record

    keep_apart({"--output": output, "--data": data})
    verdicts = beside(output, ".verdicts.jsonl")
    fields = FieldMap.parse(map_ or ())
    labels = [_gold(row) for row in read_rows(data, fields)]
    _check_rows(len(labels), data)
    judge = load_judge(judge_name)
    source = describe(data)
    tally = _judge_file(judge, judge_name, data, source, verdicts, batch_size, fields=fields)
    calibration = fit_calibration(
        judge.info,
        [verdict.raw_score for verdict in read_verdicts(verdicts)],
        labels,
        method=method,
        objective=objective,
        data_sha256=source.sha256,
    )
    save_record(calibration, output)
    echo(
        f"threshold {calibration.threshold:g} for {objective}, fitted on {calibration.rows} rows "
        f"({calibration.fails} FAIL); {calibration.rows_without_score} without a raw score",
        err=True,
    )
    raise typer.Exit(_exit_code(tally, False))


@app.command()
def cascade(
    judge_name: Annotated[
        str, typer.Option("--judge", help="A cascade of two judges, as in 'cascade(luna,lynx)'.")
    ],
    data: LabelledOption,
    output: Annotated[Path, typer.Option(help="JSON file for the policy.")],
    budget: Annotated[
        str | None,
        typer.Option(help="share<=S handed on, money<=M for 1,000 answers, or p95<=SECONDS."),
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
    table, source, fields = load_prices(prices), describe(data), FieldMap.parse(map_ or ())
    labels = [_gold(row) for row in read_rows(data, fields)]
    _check_rows(len(labels), data)
    verdicts, seconds = [], []
    for number, stage in enumerate(spec.stages[: 1 if limit is None else 2], start=1):
        path = beside(output, f".stage-{number}.jsonl")
        timings = path.with_suffix(".timings.jsonl")
        # The time of one answer is not its share of a batch's.
        size = 1 if limit is not None and limit.kind == "p95" else batch_size
        _judge_file(load_judge(str(stage)), str(stage), data, source, path, size, timings, fields)
        verdicts.append(list(read_verdicts(path)))
        seconds.append(read_timings(timings))
    rows = Rows(verdicts[0], labels, source.sha256)
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
        f"what stands: {policy.kept()} ({policy.chosen_for}); {100 * policy.handed_on:.1f} % of "
        f"{policy.rows} rows are handed on",
        err=True,
    )


def _check_rows(rows: int, source: object) -> None:
    if not rows:
        raise BadInput("bad_input", str(source), "holds no rows; give at least one")


def _gold(row: Row) -> Score:
    if isinstance(row.example, BadInput):
        raise row.example
    if row.example.label is None:
        message = "is missing; give PASS or FAIL"
        raise BadInput("bad_input", f"{row.unit} {row.line}, label", message)
    return row.example.label


def _with_options(judge_name: str, risk: float | None, rules: bool, languages: str | None) -> str:
    """Write --abstain-at, --rules and --languages as the options of the judge that they are."""
    spec = parse_spec(judge_name)
    if risk is not None:
        if not isinstance(spec, JudgeSpec):
            raise typer.BadParameter("--abstain-at goes with one judge, not with a cascade")
        if "abstain" in spec.options:
            raise typer.BadParameter("give --abstain-at or the judge's option abstain=, not both")
        spec = replace(spec, options={**spec.options, "abstain": str(risk)})
    if rules:
        spec = replace(spec, options={**spec.options, "rules": "on"})
    if languages is not None:
        spec = replace(spec, options={**spec.options, "languages": languages})
    return str(spec)


def _judge_file(
    judge: Judge,
    judge_name: str,
    path: Path,
    source: Source,
    output: Path,
    batch_size: int,
    timings: Path | None = None,
    fields: FieldMap = AS_NAMED,
) -> Tally:
    make_folder(output.parent)
    # With its options: an output half of which abstains would promise nothing.
    run = {"spec": str(parse_spec(judge_name)), "input_sha256": source.sha256}
    with progress_bar(source.rows) as on_progress:
        tally = judge_rows(
            judge,
            read_rows(path, fields),
            output,
            run=run | fields.stated(),
            batch_size=batch_size,
            timings=timings,
            on_progress=on_progress,
        )
    echo(summary(tally), err=True)
    return tally


def _judge_elsewhere(
    engine: str,
    judge_name: str,
    source: str,
    output: str,
    address: str | None,
    fields: FieldMap,
) -> Tally:
    spec = parse_spec(engine)
    if not isinstance(spec, JudgeSpec) or spec.name not in ENGINES or spec.model or spec.backend:
        raise typer.BadParameter(f"--engine is one of {', '.join(ENGINES)}")
    tally = ENGINES[spec.name](judge_name, source, output, spec.options, address, fields)
    echo(summary(tally), err=True)
    return tally


def summary(tally: Tally) -> str:
    """Return a tally in one line."""
    counts = f"{tally.rows} rows: {tally.passed} PASS, {tally.failed} FAIL"
    if unscored := ", ".join(f"{n} {code}" for code, n in sorted(tally.unscored.items())):
        counts += f", {tally.unscored.total()} unscored ({unscored})"
    return counts


def _print_verdicts(
    judge: Judge, rows: Iterable[Row], batch_size: int, format_: Format | None
) -> Tally:
    """Judge and print as rows come in: one at a time on a terminal, in batches to a pipe."""
    console = Terminal()
    format_ = format_ or (Format.RICH if console.is_terminal else Format.JSON)
    tally = Tally()
    size = 1 if format_ is Format.RICH else batch_size
    for row, verdict in judge_visibly(judge, rows, size, tally):
        tally.add(verdict)
        if format_ is Format.RICH:
            console.print(render(verdict, row.example))
        elif format_ is Format.LYNX:
            sys.stdout.write(json.dumps(_lynx(verdict), ensure_ascii=False) + "\n")
        else:
            sys.stdout.write(verdict.model_dump_json() + "\n")
        sys.stdout.flush()
    return tally


def _lynx(verdict: Verdict) -> dict[str, object]:
    if verdict.error is not None:
        return {"error": verdict.error.model_dump()}
    return dict(verdict.to_lynx())


def _exit_code(tally: Tally, fail_on_hallucination: bool) -> ExitCode:
    if tally.unscored:
        return ExitCode.UNSCORED
    if fail_on_hallucination and tally.failed:
        return ExitCode.HALLUCINATION
    return ExitCode.DONE
