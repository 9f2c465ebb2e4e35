"""What is measured of a server: load, start, memory, and the guard."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import numpy as np
from tokenizers import Tokenizer

from moonlynx.serve.client import Client

from ..texts import make_examples
from .drive import Seen, drive
from .results import Cell, Guarded, Memory, Start
from .servers import BenchError, Running, forget_files, lettucedetect_server, moonlynx_server

_BODIES = 64  # different requests, sent in turns
_SHORT, _SIDE_BY_SIDE = 60, 8  # tokens and clients of the requests that memory is watched over
_SAMPLES = 200  # of memory that are kept, about
_CONTEXT = 500  # tokens of the documents that a growing answer is held to
_PATIENCE = 600.0  # seconds that a client waits for an answer
_PEER = "LettuceDetect 17M"

Say = Callable[[str], None]


class Subjects(NamedTuple):
    """What is put under load.

    Attributes:
        judge: name of the judge of our servers.
        tokenizer: what counts tokens, and what LettuceDetect's model reads by.
        scratch: an empty folder.
        package: folder that holds LettuceDetect's package; None leaves it out.
    """

    judge: str
    tokenizer: Tokenizer
    scratch: Path
    package: Path | None

    @contextmanager
    def servers(self) -> Iterator[list[Running]]:
        """Start all servers and yield them."""
        ours = {
            "batching": [],
            "row by row": ["--batch-characters", "1"],
            "batching, audit": ["--audit", f"sqlite:///{self.scratch}/load.db", "--audit-texts"],
        }
        with ExitStack() as stack:
            found = [
                stack.enter_context(moonlynx_server(name, ["--judge", self.judge, *options]))
                for name, options in ours.items()
            ]
            if self.package is not None:
                model = self.scratch / "model"
                peer = lettucedetect_server(_PEER, self.package, self.tokenizer, model)
                found.append(stack.enter_context(peer))
            yield found


def measure_load(
    subjects: Subjects,
    loads: Sequence[tuple[int, int]],
    seconds: float,
    rounds: int,
    say: Say,
) -> Iterator[Cell]:
    """Yield a cell for each server and load, measured in turns.

    Args:
        subjects: the servers.
        loads: tokens of a request, and clients at once.
        seconds: for a server in a round.
        rounds: of each load.
        say: called with progress messages.
    """
    with subjects.servers() as servers:
        for tokens, clients in loads:
            examples = make_examples(subjects.tokenizer, tokens, _BODIES, seed=tokens)
            bodies = {each.name: [each.body(one) for one in examples] for each in servers}
            seen: dict[str, list[Seen]] = {each.name: [] for each in servers}
            for turn in range(rounds):
                first = turn % len(servers)
                for each in (*servers[first:], *servers[:first]):
                    say(f"{tokens:,} tokens, {clients} clients, round {turn + 1}: {each.name}")
                    if not turn:
                        drive(each, bodies[each.name], 1, requests=2)  # warms it up
                    found = drive(each, bodies[each.name], clients, seconds=seconds)
                    seen[each.name].append(found)
            for name, found_all in seen.items():
                yield _cell(name, tokens, clients, found_all)


def _cell(name: str, tokens: int, clients: int, seen: Sequence[Seen]) -> Cell:
    latencies = [one for each in seen for one in each.latencies]
    if not latencies:
        raise BenchError(f"{name}: no request with {tokens:,} tokens was answered")
    p50, p95, p99 = (float(np.percentile(latencies, share)) for share in (50, 95, 99))
    statuses: Counter[int] = sum((each.statuses for each in seen), Counter())
    return Cell(
        server=name,
        tokens=tokens,
        clients=clients,
        rates=tuple(len(each.latencies) / each.wall for each in seen),
        seconds=(p50, p95, p99),
        statuses=dict(statuses),
        own=max(each.own for each in seen),
    )


def measure_starts(
    judge: str, tries: int, tokenizer: Tokenizer, folders: Collection[Path], say: Say
) -> Iterator[Start]:
    """Start a server so many times, warm, and cold: with folders dropped from the page cache."""
    (example,) = make_examples(tokenizer, _CONTEXT, 1, seed=0)

    def first_verdict() -> float:
        with moonlynx_server(judge, ["--judge", judge]) as server:
            url = server.address + server.path
            headers = {"Content-Type": "application/json"}
            body = server.body(example)
            httpx.post(url, content=body, headers=headers, timeout=_PATIENCE).raise_for_status()
            return time.perf_counter() - server.started

    found: dict[str, list[float]] = {"cold": [], "warm": []}
    for turn in range(tries):
        for kind, seconds in found.items():
            say(f"start {turn + 1} of {tries}, {kind}")
            if kind == "cold":
                forget_files(folders)
            seconds.append(first_verdict())
    for kind, seconds in found.items():
        yield Start(kind=kind, seconds=tuple(seconds))


def measure_memory(
    judge: str, requests: int, tokenizer: Tokenizer, scratch: Path, say: Say
) -> Memory:
    """Watch a server's memory over short requests; all that a server may keep is switched on."""
    samples: list[tuple[int, float]] = []
    options = ["--judge", judge, "--audit", f"sqlite:///{scratch}/memory.db", "--audit-texts"]
    with moonlynx_server("memory", options) as server:
        bodies = [server.body(one) for one in make_examples(tokenizer, _SHORT, _BODIES, seed=1)]
        drive(server, bodies, _SIDE_BY_SIDE, requests=_BODIES)
        samples.append((0, server.resident_mb()))
        say(f"{requests:,} requests; at first {samples[0][1]:.0f} MB")

        def look(answered: int) -> None:
            if answered - samples[-1][0] >= requests / _SAMPLES:
                samples.append((answered, server.resident_mb()))
                say(f"{answered:,} requests: {samples[-1][1]:.0f} MB")

        seen = drive(server, bodies, _SIDE_BY_SIDE, requests=requests, on_second=look)
        if set(seen.statuses) != {200}:
            raise BenchError(f"memory: not all answers were 200: {dict(seen.statuses)}")
        samples.append((requests, server.resident_mb()))
    return Memory(requests=requests, samples=tuple(samples))


def measure_guard(judge: str, tokens: int, tokenizer: Tokenizer, say: Say) -> Iterator[Guarded]:
    """Guard an answer of so many tokens that comes in word by word."""
    say(f"an answer of {tokens:,} tokens")
    with moonlynx_server("guard", ["--judge", judge]) as server:
        yield from guard(server, tokens, tokenizer)


def guard(server: Running, tokens: int, tokenizer: Tokenizer) -> Iterator[Guarded]:
    """Yield the time of each sentence of a growing answer, which holds what its documents say."""
    (example,) = make_examples(tokenizer, tokens, 1, seed=2)
    text = " ".join(example.context)
    written = 0.0

    def words() -> Iterator[str]:
        nonlocal written
        for word in text.split():
            written = time.perf_counter()
            yield f"{word} "

    with Client(server.address, timeout=_PATIENCE) as client:
        for event in client.guard(words(), example.context[:1], halt_at=1.0):
            if event.verdict is not None:
                usage = event.verdict.usage
                seconds = time.perf_counter() - written
                yield Guarded(seconds=seconds, windows=usage.windows, tokens=usage.input_tokens)
