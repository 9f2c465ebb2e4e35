"""Measure short answers beside a stream of long ones: latency, memory, and the end of the server.

`python -m tests.bench.serve.beside` starts real servers and asks them over HTTP. Rounds alone
and rounds beside the stream take turns, so that what else the machine does falls on both alike.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import httpx
import numpy as np
import typer
from tokenizers import Tokenizer

from moonlynx.eval.markdown import table
from moonlynx.judge.contract.types import Example, Record
from moonlynx.judge.judges.luna.weights import EMBEDDED, TOKENIZER, load_tokenizer
from moonlynx.judge.registry import DEFAULT_JUDGE
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from ..origin import OUT, Origin, write
from ..texts import make_examples
from .drive import Seen, drive
from .servers import Running, moonlynx_server

_SHORT = 500  # tokens of a short request
_BODIES = 32  # different short requests, sent in turns
_DRAINED = 1_000_000  # characters of the answer that is being judged at the end
_TIMEOUT = 10.0  # seconds that it has
_PATIENCE = 300.0  # seconds to wait for the end
_LOOK = 0.02

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Side(Record):
    """What short requests saw: milliseconds at the 50th and 95th percentile, answers by status."""

    requests: int
    p50: float
    p95: float
    statuses: dict[int, int]


class Beside(Record):
    """A whole run.

    Attributes:
        characters: of a long answer.
        streams: clients that send long answers, one after the other.
        alone, beside: without and with them.
        long: their answers by HTTP status.
        memory: MB that the server held after each round, the first after one without them.
        drain: seconds from SIGTERM to the end, with an answer of a megabyte being judged that has
            `timeout` seconds.
    """

    origin: Origin
    judge: str
    characters: int
    streams: int
    alone: Side
    beside: Side
    long: dict[int, int]
    memory: tuple[float, ...]
    timeout: float
    drain: float


@app.command()
def command(
    judge: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT_JUDGE,
    characters: Annotated[int, typer.Option(min=1_000, help="Of a long answer.")] = 100_000,
    streams: Annotated[int, typer.Option(min=1, help="Clients with long answers.")] = 2,
    seconds: Annotated[float, typer.Option(min=0.1, help="Of a round.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="Alone, and beside the stream.")] = 4,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = OUT,
    name: Annotated[str, typer.Option(help="Of the results' .json and .md.")] = "serve-beside",
) -> None:
    """Measure short answers beside a stream of long ones."""
    origin = Origin.of("tests.bench.serve.beside", sys.argv[1:], None)
    tokenizer = load_tokenizer(EMBEDDED / TOKENIZER)
    short = make_examples(tokenizer, _SHORT, _BODIES, seed=3)
    alone, beside, long, memory = [], [], Counter[int](), []
    with errors_as_messages():
        with moonlynx_server("beside", ["--judge", judge]) as server:
            bodies = [server.body(one) for one in short]
            stream = [server.body(_long(tokenizer, characters))]
            drive(server, bodies, 1, requests=_BODIES)  # warms it up
            memory.append(server.resident_mb())
            for number in range(rounds):
                _say(f"round {number + 1}, alone")
                alone.append(drive(server, bodies, 1, seconds=seconds))
                _say(f"round {number + 1}, beside the stream")
                with ThreadPoolExecutor(1) as pool:
                    sending = pool.submit(drive, server, stream, streams, seconds=seconds)
                    beside.append(drive(server, bodies, 1, seconds=seconds))
                    long += sending.result().statuses
                memory.append(server.resident_mb())
        bench = Beside(
            origin=origin,
            judge=judge,
            characters=characters,
            streams=streams,
            alone=_side(alone),
            beside=_side(beside),
            long=dict(long),
            memory=tuple(memory),
            timeout=_TIMEOUT,
            drain=_drain(judge, tokenizer),
        )
        write(out, name, bench, render(bench))


def _long(tokenizer: Tokenizer, characters: int) -> Example:
    """Return an example whose answer has so many characters."""
    (example,) = make_examples(tokenizer, characters // 3, 1, seed=4)
    answer = " ".join(example.context)[:characters]
    return example.model_copy(update={"answer": answer, "context": example.context[:8]})


def _side(seen: list[Seen]) -> Side:
    latencies = [1e3 * one for each in seen for one in each.latencies]
    p50, p95 = (float(np.percentile(latencies, share)) for share in (50, 95))
    statuses: Counter[int] = sum((each.statuses for each in seen), Counter())
    return Side(requests=len(latencies), p50=p50, p95=p95, statuses=dict(statuses))


def _drain(judge: str, tokenizer: Tokenizer) -> float:
    """Return the seconds that a server takes to end while it judges an answer of a megabyte."""
    limits = ("--max-answer", "--max-claims", "--max-tokens")
    options = [word for limit in limits for word in (limit, str(2 * _DRAINED))]
    options += ["--judge", judge, "--timeout", str(_TIMEOUT)]
    with moonlynx_server("drain", options) as server, ThreadPoolExecutor(1) as pool:
        body = server.body(_long(tokenizer, _DRAINED))
        asked = pool.submit(drive, server, [body], 1, requests=1)
        begun = "moonlynx_rows_under_way 1.0"
        while begun not in httpx.get(f"{server.address}/metrics").text and not asked.done():
            time.sleep(_LOOK)
        _say("SIGTERM, with an answer of a megabyte being judged")
        started = time.perf_counter()
        os.kill(server.pid, signal.SIGTERM)
        while not _ended(server) and time.perf_counter() < started + _PATIENCE:
            time.sleep(_LOOK)
        seconds = time.perf_counter() - started
        asked.result()
    return seconds


def _ended(server: Running) -> bool:
    """Return whether the process has ended, even if its exit code is not yet read (Linux only)."""
    stat = Path(f"/proc/{server.pid}/stat").read_text(encoding="ascii")
    return stat.rpartition(") ")[2].startswith("Z")


def render(bench: Beside) -> str:
    """Write it as Markdown."""
    rows = [
        (name, str(side.requests), f"{side.p50:,.0f}", f"{side.p95:,.0f}", _not_200(side.statuses))
        for name, side in (("alone", bench.alone), ("beside the stream", bench.beside))
    ]
    ratio = bench.beside.p95 / bench.alone.p95
    long = ", ".join(f"{count} × {status}" for status, count in sorted(bench.long.items()))
    first, *rest = (f"{mb:.0f}" for mb in bench.memory)
    sections = [
        "# Short answers beside long ones",
        bench.origin.describe(),
        f"One client asks `{bench.judge}` for verdicts on {_SHORT} tokens, in rounds alone and in "
        f"rounds beside {bench.streams} clients that send answers of {bench.characters:,} "
        "characters one after the other.",
        table(("", "answers", "p50 ms", "p95 ms", "not 200"), rows, left=(0,)),
        f"p95 beside the stream is {ratio:.2f} times that alone. The long answers: {long}. Memory: "
        f"{first} MB before the first of them, {', '.join(rest)} MB after each round.",
        f"SIGTERM while an answer of a megabyte was being judged, which had {bench.timeout:g} "
        f"seconds: the process ended after {bench.drain:.1f} seconds.",
    ]
    return "\n\n".join(sections) + "\n"


def _not_200(statuses: dict[int, int]) -> str:
    return str(sum(statuses.values()) - statuses.get(200, 0))


def _say(message: str) -> None:
    echo(message, err=True)


if __name__ == "__main__":
    app()
