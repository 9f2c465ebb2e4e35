"""The commands `moonlynx judge` and `judges`."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from ..batch.judging import BATCH_SIZE, Tally, judge_rows, to_line
from ..contract.base import Judge, with_documents
from ..contract.spec import JudgeSpec, Spec, parse_spec, with_preset
from ..contract.types import Example, ExitCode
from ..files.atomic import keep_apart
from ..registry import CASCADE, DEFAULT_JUDGE, all_factories, fields_for, load_judge
from ..rows.examples import Row, describe, read_rows
from ..rows.fields import AS_NAMED, FieldMap
from ..rows.formats import kept
from ..terminal.messages import Terminal, echo, make_folder
from ..terminal.progress import judge_visibly, progress_bar
from ..terminal.show import render
from .inputs import (
    FILES_HELP,
    IndexOption,
    JudgeOption,
    MapOption,
    PresetOption,
    check_rows,
    rows_asked_for,
    say_notes,
)

app = typer.Typer()


# Judges the rows of a path or URL outside this process: spec, source, output, the engine's options,
# the cluster's address, fields.
Engine = Callable[[Spec, str, str, Mapping[str, str], str | None, FieldMap], Tally]
# By name; filled where the command line is assembled, from layers above this one.
ENGINES: dict[str, Engine] = {}
Format = Literal["rich", "json", "lynx"]


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
    messages: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="OpenAI's messages, a JSON list: judges the last assistant turn by the tools' "
            "results, system messages and what users state. - is standard input.",
        ),
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
            help="JSONL file for the verdicts; an interrupted run resumes.",
        ),
    ] = None,
    judge_name: JudgeOption = DEFAULT_JUDGE,
    preset: PresetOption = None,
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
    require_citations: Annotated[
        bool,
        typer.Option(
            "--require-citations",
            help="FAIL where a sentence cites nothing, or not what supports it: "
            "?citations=required.",
        ),
    ] = False,
    languages: Annotated[
        Literal["warn", "strict"] | None,
        typer.Option(
            help="Of a text in a language that the judge does not read: judge it with a warning "
            "(the default), or leave it unscored: ?languages=strict.",
        ),
    ] = None,
    index: IndexOption = None,
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
    flags = {
        "abstain": abstain_at,
        "rules": "on" if rules else None,
        "citations": "required" if require_citations else None,
        "languages": languages,
        "index": index,
    }
    spec = with_preset(_parse(judge_name, flags), preset)
    fields = fields_for(spec, FieldMap.parse(map_ or ()))
    path = None if input_file is None else Path(input_file)
    if engine is None:
        verdicts = None if output is None else Path(output)
        keep_apart({"--timings": timings, "--output": verdicts, "--input": path})
    if engine is not None:
        if input_file is None or output is None or timings is not None:
            raise typer.BadParameter("--engine goes with --input and --output, without --timings")
        tally = _judge_elsewhere(engine, spec, input_file, output, address, fields)
    elif output is not None:
        if path is None:
            raise typer.BadParameter("--output goes with --input")
        loaded = load_judge(spec)
        tally = judge_file(loaded, spec, path, Path(output), batch_size, timings, fields)
    else:
        rows = rows_asked_for(question, context, answer, messages, path, fields)
        tally = _print_verdicts(load_judge(spec), rows, batch_size, format_)
    say_notes(fields)
    if require_rows or fail_on_hallucination:
        check_rows(tally.rows, "standard input" if input_file is None else input_file)
    if fail_on_hallucination and tally.failed and not tally.unscored:
        raise typer.Exit(ExitCode.HALLUCINATION)
    raise typer.Exit(exit_code(tally))


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
        "needs judges that abstain, or a policy: cascade(luna?abstain=0.2,lynx@URL)",
        style="dim",
    )
    Terminal().print(table)


def _parse(judge_name: str, flags: Mapping[str, object]) -> Spec:
    """Read the judge's name, and what the command's options set of the judge's."""
    spec = parse_spec(judge_name)
    for name, flag in (("abstain", "--abstain-at"), ("citations", "--require-citations")):
        if flags[name] is not None and not isinstance(spec, JudgeSpec):
            raise typer.BadParameter(f"{flag} goes with one judge, not with a cascade")
    if flags["abstain"] is not None and "abstain" in spec.options:
        raise typer.BadParameter("give --abstain-at or the judge's option abstain=, not both")
    given = {name: str(value) for name, value in flags.items() if value is not None}
    return replace(spec, options=spec.options | given)


def judge_file(
    judge: Judge,
    spec: Spec,
    path: Path,
    output: Path,
    batch_size: int,
    timings: Path | None = None,
    fields: FieldMap = AS_NAMED,
) -> Tally:
    """Write a verdict per row of `path` to `output` with a progress bar; print the counts."""
    with kept(path) as file:
        source = describe(file)
        make_folder(output.parent)
        # With its options: an output half of which abstains would promise nothing.
        run = {"spec": str(spec), "input_sha256": source.sha256}
        with progress_bar(source.rows) as on_progress:
            tally = judge_rows(
                judge,
                read_rows(file, fields),
                output,
                run=run | fields.stated(),
                batch_size=batch_size,
                timings=timings,
                on_progress=on_progress,
            )
    echo(tally, err=True)
    return tally


def _judge_elsewhere(
    engine: str,
    spec: Spec,
    source: str,
    output: str,
    address: str | None,
    fields: FieldMap,
) -> Tally:
    where = parse_spec(engine)
    if (
        not isinstance(where, JudgeSpec)
        or where.name not in ENGINES
        or where.model
        or where.backend
    ):
        raise typer.BadParameter(f"--engine is one of {', '.join(ENGINES)}")
    tally = ENGINES[where.name](spec, source, output, where.options, address, fields)
    echo(tally, err=True)
    return tally


def _print_verdicts(
    judge: Judge, rows: Iterable[Row], batch_size: int, format_: Format | None
) -> Tally:
    """Judge and print as rows come in: one at a time on a terminal, in batches to a pipe."""
    console = Terminal()
    format_ = format_ or ("rich" if console.is_terminal else "json")
    tally = Tally()
    size = 1 if format_ == "rich" else batch_size
    for row, verdict in judge_visibly(judge, rows, size, tally):
        tally.add(verdict)
        if format_ == "rich":
            example = row.example
            if isinstance(example, Example):
                example = with_documents(judge, example)
            console.print(render(verdict, example))
        elif format_ == "lynx":
            said = {"error": verdict.error.model_dump()} if verdict.error else verdict.to_lynx()
            sys.stdout.write(json.dumps(said, ensure_ascii=False) + "\n")
        else:
            sys.stdout.write(to_line(verdict).decode())
        sys.stdout.flush()
    return tally


def exit_code(tally: Tally) -> ExitCode:
    """Return what a command ends with that wrote these verdicts."""
    return ExitCode.UNSCORED if tally.unscored else ExitCode.DONE
