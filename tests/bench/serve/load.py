"""Measure the gateway as its clients meet it: load, start, memory, guard, long answers.

`python -m tests.bench.serve.load` starts real servers and asks them over HTTP: ours with and
without batching and with an audit, and LettuceDetect's own where its package is given. Servers, and
rounds with and without long answers, take turns, so that what else the machine does falls on all of
them alike.
"""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.judges.luna.weights import EMBEDDED, TOKENIZER, load_tokenizer
from moonlynx.judge.registry import DEFAULT_JUDGE

from ..record import AgainstOption, Bench, Origin, ReportOption, publish, run
from .measures import (
    Subjects,
    measure_beside,
    measure_guard,
    measure_load,
    measure_memory,
    measure_starts,
)
from .servers import installed

_TOKENS, _CLIENTS = [500, 4_000], [1, 8, 64]


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
    long: Annotated[
        int, typer.Option(min=0, help="Characters of the answers beside short ones.")
    ] = 0,
    lettucedetect: Annotated[
        Path | None, typer.Option(help="Folder that holds the package lettucedetect.")
    ] = None,
    report: ReportOption = None,
    against: AgainstOption = None,
) -> None:
    """Measure the server's load, start, memory and guard; 0 leaves a part out."""
    origin = Origin.of("serve.load", "fastapi", "uvicorn", "httpx", folder=lettucedetect)
    note = (
        f"Clients on the same machine, each with one request under way, ask for one verdict of "
        f"`{judge}` at a time. Rates are the median of the rounds, latencies of all rounds "
        "together. The last column of a load is what the clients themselves took of a core, which "
        "the server did not have. A sentence of a guarded answer is judged once, so that a later "
        "one costs no more than an early one."
    )
    bench = Bench(title="The server under load", origin=origin, notes=(note,))
    with tempfile.TemporaryDirectory() as scratch:
        tokenizer = load_tokenizer(EMBEDDED[None] / TOKENIZER)
        subjects = Subjects(judge, tokenizer, Path(scratch), lettucedetect)
        try:
            if starts:
                bench = bench.adding(measure_starts(subjects, starts, installed()))
            if answer_tokens:
                bench = bench.adding(measure_guard(subjects, answer_tokens))
            if seconds:
                loads = list(product(tokens, clients))
                bench = bench.adding(measure_load(subjects, loads, seconds, rounds))
            if long:
                bench = bench.adding(measure_beside(subjects, long, seconds or 5, rounds))
            if requests:
                bench = bench.adding([measure_memory(subjects, requests)])
        finally:  # what was measured before a fault is not lost
            publish(bench, "serve-load", report, against)


if __name__ == "__main__":
    run(command)
