"""What is measured of a server: load, start, memory, the guard, and long answers beside short."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from moonlynx.judge.contract.types import Example
from moonlynx.serve.client import Client

from ..record import BenchError, Measurement, say
from ..texts import make_examples
from .drive import Seen, drive
from .servers import Running, forget_files, lettucedetect_server, moonlynx_server

_BODIES = 64  # different requests, sent in turns
_SHORT, _SIDE_BY_SIDE = 60, 8  # tokens and clients of the requests that memory is watched over
_SAMPLES = 200  # of memory that are kept, about
_CONTEXT = 500  # tokens of the documents that a growing answer is held to
_PATIENCE = 600.0  # seconds that a client waits for an answer
_PEER = "LettuceDetect 17M"


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

    def examples(self, tokens: int, count: int, seed: int) -> list[Example]:
        """Return examples of so many tokens."""
        return make_examples(self.tokenizer, tokens, count, seed)


def measure_load(
    subjects: Subjects, loads: Sequence[tuple[int, int]], seconds: float, rounds: int
) -> Iterator[Measurement]:
    """Yield a row for each server and load, measured in turns.

    Args:
        subjects: the servers.
        loads: tokens of a request, and clients at once.
        seconds: for a server in a round.
        rounds: of each load.
    """
    with subjects.servers() as servers:
        for tokens, clients in loads:
            examples = subjects.examples(tokens, _BODIES, seed=tokens)
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
                yield under_load({"tokens": tokens, "clients": clients, "server": name}, found_all)


def under_load(of: dict[str, str | int], seen: Sequence[Seen], title: str = "Load") -> Measurement:
    """Return the row of one server under one load.

    Raises:
        BenchError: no request was answered.
    """
    latencies = [1e3 * one for each in seen for one in each.latencies]
    if not latencies:
        raise BenchError(f"{title}, {of}: no request was answered")
    p50, p95, p99 = (float(np.percentile(latencies, share)) for share in (50, 95, 99))
    statuses: Counter[int] = sum((each.statuses for each in seen), Counter())
    rates = tuple(len(each.latencies) / each.wall for each in seen)
    return Measurement(
        table=title,
        of=of,
        found={
            "answers/s": median(rates),
            "answers": statuses.total(),
            "p50 ms": p50,
            "p95 ms": p95,
            "p99 ms": p99,
            "not 200": statuses.total() - statuses[200],
            "clients' share": max(each.own for each in seen),
        },
        samples=rates,
    )


def measure_starts(
    subjects: Subjects, tries: int, folders: Collection[Path]
) -> Iterator[Measurement]:
    """Start a server so many times, warm, and cold: with folders dropped from the page cache."""
    (example,) = subjects.examples(_CONTEXT, 1, seed=0)

    def first_verdict() -> float:
        with moonlynx_server(subjects.judge, ["--judge", subjects.judge]) as server:
            drive(server, [server.body(example)], 1, requests=1)
            return time.perf_counter() - server.started

    found: dict[str, list[float]] = {"cold": [], "warm": []}
    for turn in range(tries):
        for kind, seconds in found.items():
            say(f"start {turn + 1} of {tries}, {kind}")
            if kind == "cold":
                forget_files(folders)
            seconds.append(first_verdict())
    for kind, seconds in found.items():
        yield Measurement(
            table="From process start to first verdict",
            of={"start": kind, "tries": tries},
            found={"median s": median(seconds), "least s": min(seconds), "most s": max(seconds)},
            samples=tuple(seconds),
        )


def measure_memory(subjects: Subjects, requests: int) -> Measurement:
    """Watch a server's memory over short requests; all that a server may keep is switched on."""
    samples: list[tuple[int, float]] = []
    audit = ["--audit", f"sqlite:///{subjects.scratch}/memory.db", "--audit-texts"]
    with moonlynx_server("memory", ["--judge", subjects.judge, *audit]) as server:
        bodies = [server.body(one) for one in subjects.examples(_SHORT, _BODIES, seed=1)]
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
    held = tuple(mb for _, mb in samples)
    return Measurement(
        table="Memory, with an audit that keeps texts",
        of={"requests": requests},
        found={
            "MB for 100,000 more": slope(samples, requests),
            "MB at first": held[0],
            "MB at most": max(held),
            "MB at last": held[-1],
        },
        samples=held,
    )


def slope(samples: Sequence[tuple[int, float]], requests: int) -> float | None:
    """Return MB for 100,000 requests: a line through the samples after the first tenth.

    None where these are all of one number of requests.
    """
    late = np.array([one for one in samples if one[0] >= requests / 10])
    if len(np.unique(late[:, 0])) < 2:
        return None
    return 1e5 * float(np.polyfit(late[:, 0], late[:, 1], 1)[0])


class Guarded(NamedTuple):
    """One sentence of a growing answer: seconds to its verdict, windows and tokens read for it."""

    seconds: float
    windows: int
    tokens: int


def measure_guard(subjects: Subjects, tokens: int) -> Iterator[Measurement]:
    """Guard an answer of so many tokens that comes in word by word; yield a row a quarter."""
    say(f"an answer of {tokens:,} tokens")
    with moonlynx_server("guard", ["--judge", subjects.judge]) as server:
        sentences = list(guard(server, tokens, subjects.tokenizer))
    edges = np.linspace(0, len(sentences), 5).astype(int)
    for quarter, (start, end) in enumerate(pairwise(edges), start=1):
        if part := sentences[start:end]:
            milliseconds = [1e3 * one.seconds for one in part]
            yield Measurement(
                table="The guard, by quarters of the answer",
                of={"tokens": tokens, "quarter": quarter, "sentences": len(part)},
                found={
                    "p50 ms": float(np.percentile(milliseconds, 50)),
                    "p95 ms": float(np.percentile(milliseconds, 95)),
                    "windows each": float(np.mean([one.windows for one in part])),
                    "tokens each": float(np.mean([one.tokens for one in part])),
                },
                samples=tuple(milliseconds),
            )


def guard(server: Running, tokens: int, tokenizer: Tokenizer) -> Iterator[Guarded]:
    """Yield the time of each sentence of a growing answer, which holds what its documents say.

    It is from the word that shows a sentence to be whole to its verdict.
    """
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
                yield Guarded(seconds, usage.windows, usage.input_tokens)


def measure_beside(
    subjects: Subjects, characters: int, seconds: float, rounds: int
) -> Iterator[Measurement]:
    """Measure short answers alone and beside two streams of long ones, in turns."""
    alone, beside, long = [], [], []
    with moonlynx_server("beside", ["--judge", subjects.judge]) as server:
        bodies = [server.body(one) for one in subjects.examples(_CONTEXT, _BODIES, seed=3)]
        stream = [server.body(_long(subjects, characters))]
        drive(server, bodies, 1, requests=_BODIES)  # warms it up
        memory = [server.resident_mb()]
        for turn in range(rounds):
            say(f"round {turn + 1}, alone and beside answers of {characters:,} characters")
            alone.append(drive(server, bodies, 1, seconds=seconds))
            with ThreadPoolExecutor(1) as pool:
                sending = pool.submit(drive, server, stream, 2, seconds=seconds)
                beside.append(drive(server, bodies, 1, seconds=seconds))
                long.append(sending.result())
            memory.append(server.resident_mb())
    title = "Short answers beside long ones"
    for kind, seen in (("short, alone", alone), ("short, beside", beside), ("long", long)):
        yield under_load({"answers": kind}, seen, title)
    yield Measurement(
        table="Memory with long answers",
        of={"characters": characters, "rounds": rounds},
        found={"MB at last": memory[-1], "MB before": memory[0]},
        samples=tuple(memory),
    )


def _long(subjects: Subjects, characters: int) -> Example:
    """Return an example whose answer has so many characters."""
    (example,) = subjects.examples(characters // 3, 1, seed=4)
    answer = " ".join(example.context)[:characters]
    return example.model_copy(update={"answer": answer, "context": example.context[:8]})
