"""The commands that measure: `moonlynx eval`, `frontier`, `compare`, `leaderboard`, `rows`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from moonlynx.judge.batch.judging import BATCH_SIZE, read_verdicts
from moonlynx.judge.cli.inputs import IndexOption, MapOption, PresetOption, say_notes
from moonlynx.judge.contract.spec import parse_spec, with_preset
from moonlynx.judge.contract.types import BadInput, ExitCode
from moonlynx.judge.files.atomic import keep_apart, written_whole
from moonlynx.judge.rows.fields import ALL_DOCUMENTS, FieldMap
from moonlynx.judge.terminal.messages import echo, make_folder
from moonlynx.judge.terminal.progress import progress_bar

app = typer.Typer()

# Measuring needs numpy, which the other commands start without: it is imported where used.

BenchmarkOption = Annotated[
    str,
    typer.Option(
        "--benchmark",
        help="ragtruth, halubench, summedits or faithbench; a dataset of the Hub, such as "
        "PatronusAI/HaluBench, or a part of one, such as rungalileo/ragbench/techqa; or a file of "
        "labelled rows (.jsonl, .csv, .parquet, ...).",
    ),
]
SplitOption = Annotated[
    str | None, typer.Option(help="Split (default: the benchmark's first, its test split).")
]
DataOption = Annotated[
    Path | None, typer.Option(help="Folder with the benchmark's files (default: $MOONLYNX_DATA).")
]
OutputOption = Annotated[
    Path, typer.Option(help="Folder for verdicts and reports; a stopped run resumes from it.")
]
BatchOption = Annotated[int, typer.Option(min=1, help="Rows judged at once.")]
ResamplesOption = Annotated[int, typer.Option(min=100, help="Resamples of the bootstrap.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of bootstrap and sample.")]
PricesOption = Annotated[
    Path | None, typer.Option(help="Price table (default: the package's own).")
]


@app.command("eval")
def evaluate(
    context: typer.Context,
    benchmark: BenchmarkOption,
    judge: Annotated[
        list[str],
        typer.Option(help="Name of a judge; `moonlynx judges` lists them. Repeatable."),
    ],
    output: OutputOption,
    preset: PresetOption = None,
    map_: MapOption = None,
    split: SplitOption = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Judge only a random sample of so many rows.")
    ] = None,
    data: DataOption = None,
    batch_size: BatchOption = BATCH_SIZE,
    resamples: ResamplesOption = 1_000,
    seed: SeedOption = 0,
    prices: PricesOption = None,
    precisions: Annotated[
        bool,
        typer.Option(
            "--precisions",
            help="The judges are one model in several precisions: compare each with the first, in "
            "accuracy, speed and memory.",
        ),
    ] = False,
) -> None:
    """Judge a labelled benchmark and report the judges' accuracy.

    Writes verdicts-JUDGE.jsonl and the rows' times for each judge, report.json and report.md, and
    where judges give probabilities reliability.svg and coverage-risk.svg; precisions.md on request.
    """
    from moonlynx.judge.decision.cost import load_prices

    from .benchmarks import load_benchmark
    from .precisions import judge_apart, measure, render
    from .report_pages import summary
    from .run import Settings, run_evaluation

    if precisions and len(judge) < 2:
        raise typer.BadParameter("name --judge twice or more", param_hint="--precisions")
    fields = FieldMap.parse(map_ or ())
    load = partial(
        load_benchmark, benchmark, split=split, data=data, limit=limit, seed=seed, fields=fields
    )
    loaded = load()
    say_notes(fields)
    make_folder(output)
    judges = [str(with_preset(parse_spec(name), preset)) for name in judge] if preset else judge
    settings = Settings(_command(context), progress_bar, batch_size, resamples, seed)
    report = run_evaluation(
        loaded,
        judges,
        output,
        settings,
        load_prices(prices),
        partial(judge_apart, load) if precisions else None,
    )
    echo(summary(report))
    if precisions:
        compared = render(measure(loaded, judges, output, settings), loaded)
        (output / "precisions.md").write_text(compared, encoding="utf-8")
        echo(f"\n{compared}", nl=False)
    echo(f"\nThe whole report: {output / 'report.md'}")
    unscored = any(each.unscored for each in report.judges)
    raise typer.Exit(ExitCode.UNSCORED if unscored else ExitCode.DONE)


@app.command()
def frontier(
    context: typer.Context,
    benchmark: BenchmarkOption,
    first: Annotated[
        list[str], typer.Option(help="Name of a judge that gives raw scores. Repeatable.")
    ],
    second: Annotated[
        list[str],
        typer.Option(
            help="Name of a judge, or recorded:NAME for a detector whose answers come with the "
            "rows (faithbench). Repeatable."
        ),
    ],
    output: OutputOption,
    map_: MapOption = None,
    split: SplitOption = None,
    data: DataOption = None,
    batch_size: BatchOption = BATCH_SIZE,
    resamples: ResamplesOption = 1_000,
    seed: SeedOption = 0,
) -> None:
    """Report the accuracy of two judges together, by the share of rows that the first defers.

    Writes frontier.json, frontier.md, frontier.csv and a figure for each first judge.
    """
    from .benchmarks import load_benchmark
    from .frontier_pages import run_frontier
    from .run import Settings

    fields = FieldMap.parse(map_ or ())
    loaded = load_benchmark(benchmark, split=split, data=data, fields=fields)
    make_folder(output)
    settings = Settings(_command(context), progress_bar, batch_size, resamples, seed)
    run_frontier(loaded, first, second, output, settings)
    echo(f"The whole report: {output / 'frontier.md'}")


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="Verdict file of one judge.")],
    b: Annotated[Path, typer.Argument(help="Verdict file of the other, on the same rows.")],
    benchmark: BenchmarkOption,
    map_: MapOption = None,
    split: SplitOption = None,
    data: DataOption = None,
    output: Annotated[Path | None, typer.Option(help="JSON file for the comparison.")] = None,
    resamples: ResamplesOption = 1_000,
    seed: SeedOption = 0,
) -> None:
    """Test whether one judge is better than another on the same rows.

    McNemar and Wilcoxon tests, and the paired bootstrap of the difference.
    """
    from .benchmarks import load_benchmark
    from .compare import compare as test
    from .compare import render
    from .provenance import File

    keep_apart({"--output": output, "A": a, "B": b})
    # With their folders: files of two runs may have the same name.
    files = (File.of(path).model_copy(update={"path": str(path)}) for path in (a, b))
    one, other = ((file, list(read_verdicts(Path(file.path)))) for file in files)
    fields = FieldMap.parse(map_ or ())
    rows = load_benchmark(benchmark, split=split, data=data, fields=fields).rows
    comparison = test(rows, one, other, resamples=resamples, seed=seed)
    if output is not None:
        output.write_text(comparison.model_dump_json(indent=2) + "\n", encoding="utf-8")
    echo(render(comparison), nl=False)


@app.command()
def leaderboard(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders that `moonlynx eval --output` wrote.")
    ],
    output: Annotated[Path, typer.Option(help="Folder for leaderboard.html and leaderboard.md.")],
    add: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=FILE: verdicts of another system, one for each row of a run's benchmark. "
            "Repeatable."
        ),
    ] = None,
    map_: MapOption = None,
    data: DataOption = None,
    prices: PricesOption = None,
) -> None:
    """Write one page over finished evaluations: judges, baselines, published figures, costs.

    A row a judge, sortable, with a plot of quality against cost. Runs on the same rows are joined.
    """
    from moonlynx.judge.decision.cost import load_prices

    from .leaderboard.boards import build_boards, load_again, read_reports, score_verdicts
    from .leaderboard.page import render_html, render_markdown

    reports, table, fields = read_reports(runs), load_prices(prices), FieldMap.parse(map_ or ())
    pairs = [(name, Path(path)) for name, _, path in (each.partition("=") for each in add or ())]
    if any(not name or path == Path() for name, path in pairs):
        raise typer.BadParameter("write NAME=FILE", param_hint="--add")
    loaded = [(load_again(report, data, fields), report) for report in reports] if pairs else []
    added = [score_verdicts(name, path, loaded, table) for name, path in pairs]
    boards = build_boards(reports, added)
    make_folder(output)
    for kind, text in (("html", render_html(boards)), ("md", render_markdown(boards))):
        (output / f"leaderboard.{kind}").write_text(text, encoding="utf-8")
    echo(f"The leaderboard: {output / 'leaderboard.html'}")


@app.command()
def report(
    verdicts: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="JSONL file by `moonlynx judge`.")
    ],
    output: Annotated[Path, typer.Option(help="File for the page.")],
    rows: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="The rows that were judged, for their texts."
        ),
    ] = None,
    map_: MapOption = None,
    index: IndexOption = None,
    format_: Annotated[
        Literal["html", "md"], typer.Option("--format", help="Of the page; HTML holds charts.")
    ] = "html",
) -> None:
    """Show what goes wrong in a batch: by question, document, kind of error and over time.

    The page is one file without scripts, with the 20 worst answers and their evidence. A row's time
    is its field `time`, `timestamp`, `created_at` or `date`.
    """
    from .explain.batch import read_batch
    from .explain.faults import find_faults
    from .explain.pages import render

    keep_apart({"--output": output, "VERDICTS": verdicts, "--rows": rows})
    fields = FieldMap.parse(map_ or ())
    expand = None
    if index is not None:
        from moonlynx.judge.index.narrow import expand as with_texts
        from moonlynx.judge.index.store import load_index

        fields = replace(fields, absent={"context": ALL_DOCUMENTS})
        expand = partial(with_texts, load_index(index))
    faults = find_faults(read_batch(verdicts, rows, fields, expand))
    page = render(faults, format_, verdicts.name)
    with written_whole(output) as draft:
        draft.write_text(page, encoding="utf-8")
    total = faults.total
    echo(f"{output}: {total.failed} FAIL of {total.scored} scored, {total.unscored} unscored")


@app.command()
def rows(
    benchmark: BenchmarkOption,
    map_: MapOption = None,
    split: SplitOption = None,
    data: DataOption = None,
) -> None:
    """Print a benchmark's labelled rows as JSON Lines, for `moonlynx calibrate` and other tools."""
    from .benchmarks import load_benchmark

    fields = FieldMap.parse(map_ or ())
    for row in load_benchmark(benchmark, split=split, data=data, fields=fields).rows:
        if isinstance(row.example, BadInput):
            raise row.example
        sys.stdout.write(row.example.model_dump_json(exclude_defaults=True) + "\n")


def _command(context: typer.Context) -> str:
    """Return the command line, with the options that set the numbers default ones too."""
    words = ["moonlynx", str(context.command.name)]
    for option in context.command.params:
        value = context.params[str(option.name)]
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is None or each is False or (option.name, each) == ("batch_size", BATCH_SIZE):
                continue
            words += [option.opts[0]] if each is True else [option.opts[0], str(each)]
    return shlex.join(words)
