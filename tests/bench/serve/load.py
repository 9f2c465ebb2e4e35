"""Measure the gateway as its clients meet it: load, start, memory, guard.

`python -m tests.bench.serve.load` starts real servers and asks them over HTTP: ours with and
without batching and with an audit, and LettuceDetect's own where its package is given. Servers take
turns, so that what else the machine does falls on all of them alike.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.judges.luna.weights import EMBEDDED, TOKENIZER, load_tokenizer
from moonlynx.judge.registry import DEFAULT_JUDGE
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from ..origin import OUT, Origin, write
from .measures import Subjects, measure_guard, measure_load, measure_memory, measure_starts
from .results import ServeBench, render
from .servers import installed

_TOKENS, _CLIENTS = [500, 4_000], [1, 8, 64]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    judge: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT_JUDGE,
    tokens: Annotated[
        list[int], typer.Option(min=8, help="Tokens of a request's texts. Repeatable.")
    ] = _TOKENS,
    clients: Annotated[
        list[int], typer.Option(min=1, help="Clients at once. Repeatable.")
    ] = _CLIENTS,
    seconds: Annotated[
        float, typer.Option(min=0, help="For a server in a round; 0 leaves load out.")
    ] = 5,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each load.")] = 3,
    starts: Annotated[int, typer.Option(min=0, help="Cold and warm starts of each kind.")] = 5,
    requests: Annotated[int, typer.Option(min=0, help="Over which memory is watched.")] = 10_000,
    answer_tokens: Annotated[
        int, typer.Option(min=0, help="Of the growing answer that is guarded.")
    ] = 2_000,
    lettucedetect: Annotated[
        Path | None, typer.Option(help="Folder that holds the package lettucedetect.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = OUT,
    name: Annotated[str, typer.Option(help="Of the results' .json and .md.")] = "serve-load",
) -> None:
    """Measure the server's load, start, memory and guard; 0 leaves a part out."""
    origin = Origin.of("tests.bench.serve.load", sys.argv[1:], lettucedetect)
    packages = {package: version(package) for package in ("fastapi", "uvicorn", "httpx")}
    origin = origin.model_copy(update={"packages": origin.packages | packages})
    tokenizer = load_tokenizer(EMBEDDED / TOKENIZER)
    bench = ServeBench(origin=origin, judge=judge)
    with errors_as_messages(), tempfile.TemporaryDirectory() as scratch:
        try:
            if starts:
                found = measure_starts(judge, starts, tokenizer, installed(), _say)
                bench = bench.model_copy(update={"starts": tuple(found)})
            if answer_tokens:
                sentences = tuple(measure_guard(judge, answer_tokens, tokenizer, _say))
                guarded = {"sentences": sentences, "answer_tokens": answer_tokens}
                bench = bench.model_copy(update=guarded)
            if seconds:
                subjects = Subjects(judge, tokenizer, Path(scratch), lettucedetect)
                loads = list(product(tokens, clients))
                cells = measure_load(subjects, loads, seconds, rounds, _say)
                bench = bench.model_copy(update={"cells": tuple(cells)})
            if requests:
                memory = measure_memory(judge, requests, tokenizer, Path(scratch), _say)
                bench = bench.model_copy(update={"memory": memory})
        finally:  # what was measured before a fault is not lost
            write(out, name, bench, render(bench))


def _say(message: str) -> None:
    echo(message, err=True)


if __name__ == "__main__":
    app()
