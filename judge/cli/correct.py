"""The command `moonlynx correct`."""

from pathlib import Path
from typing import Annotated

import typer

from ..backends.chat import load_chat_model, parse_chat_model
from ..batch.correcting import correct_rows
from ..contract.spec import parse_spec
from ..correction.corrector import PROMPT
from ..files.atomic import keep_apart
from ..registry import DEFAULT_JUDGE, load_judge
from ..rows.examples import describe, read_rows
from ..rows.fields import FieldMap
from ..rows.formats import kept
from ..terminal.messages import echo, make_folder
from ..terminal.progress import progress_bar
from .inputs import FILES_HELP, JudgeOption, MapOption, say_notes
from .judge import exit_code

app = typer.Typer()


@app.command()
def correct(
    input_file: Annotated[
        Path, typer.Option("--input", metavar="FILE", exists=True, allow_dash=True, help=FILES_HELP)
    ],
    output: Annotated[
        Path, typer.Option(help="JSONL file for the corrected rows; an interrupted run resumes.")
    ],
    map_: MapOption = None,
    judge_name: JudgeOption = DEFAULT_JUDGE,
    rewrite: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Chat model that rewrites unsupported sentences, as in FILE.gguf@llamacpp or "
            "@http://localhost:8001/v1; without it they are removed.",
        ),
    ] = None,
    annotate: Annotated[
        bool, typer.Option("--annotate", help="Mark unsupported sentences, and remove nothing.")
    ] = False,
) -> None:
    """Take out of answers, or rewrite, what the documents do not support, until they pass.

    Rows in, rows out: each with the corrected answer, and a record of what was changed.
    """
    if annotate and rewrite:
        raise typer.BadParameter("give --annotate or --rewrite, not both")
    keep_apart({"--output": output, "--input": input_file})
    fields, spec = FieldMap.parse(map_ or ()), parse_spec(judge_name)
    model = None if rewrite is None else load_chat_model(parse_chat_model(rewrite))
    how = {"rewrite": f"{PROMPT} {rewrite}"} if rewrite else {"annotate": str(annotate)}
    with kept(input_file) as path:
        source = describe(path)
        make_folder(output.parent)
        with progress_bar(source.rows) as on_progress:
            tally = correct_rows(
                load_judge(spec),
                read_rows(path, fields),
                output,
                run={"spec": str(spec), "input_sha256": source.sha256} | how | fields.stated(),
                model=model,
                marking=annotate,
                on_progress=on_progress,
            )
    echo(tally, err=True)
    say_notes(fields)
    raise typer.Exit(exit_code(tally))
