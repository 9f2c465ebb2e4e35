"""The bench of the servers: what it counts, a whole run at tiny size, and the guard's cost."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from moonlynx import load_judge
from moonlynx.judge.judges.luna.weights import EMBEDDED, TOKENIZER, load_tokenizer
from moonlynx.serve.queue.batching import Batching
from moonlynx.serve.service import Settings

from ...serve.loopback import EXAMPLE, Gated, serving
from ..origin import Machine, Origin
from .drive import drive
from .measures import guard, measure_starts
from .results import Cell, Guarded, Memory, ServeBench, Start, render
from .servers import Running, forget_files, installed


def running(address):
    return Running("own", address, "/v1/judge", lambda _: b"", os.getpid(), time.perf_counter())


def test_clients_send_so_many_requests_and_count_the_answers():
    good = json.dumps(EXAMPLE).encode()
    with serving() as address:
        seen = drive(running(address), [good, b"{"], 4, requests=50)
    assert seen.statuses == {200: 25, 422: 25}
    assert len(seen.latencies) == seen.requests == 50
    assert 0 < min(seen.latencies) <= max(seen.latencies) <= seen.wall
    assert seen.own > 0


def test_clients_stop_when_the_time_is_up():
    with serving() as address:
        seen = drive(running(address), [json.dumps(EXAMPLE).encode()], 2, seconds=0.3)
    assert seen.statuses.keys() == {200}
    assert seen.wall > 0.3


def test_no_more_clients_ask_at_once_than_said():
    judge = Gated()
    judge.gate.set()
    with serving(judge, Settings(batching=Batching(wait=0.05))) as address:
        drive(running(address), [json.dumps(EXAMPLE).encode()], 3, requests=30)
    assert 1 < max(map(len, judge.batches)) <= 3


def test_a_request_without_an_answer_is_counted():
    with serving() as address:
        pass  # nobody is there any more
    seen = drive(running(address), [b"{}"], 1, requests=3)
    assert seen.statuses == {0: 3}
    assert seen.latencies == []


def test_memory_that_grows_is_seen():
    flat = [(number, 100.0 + number % 2) for number in range(0, 10_001, 100)]
    assert abs(Memory(requests=10_000, samples=tuple(flat)).slope()) < 1
    # A cache that fills in the first tenth is no leak; what goes on growing is one.
    leak = [(number, 100.0 + min(number, 1_000) + number / 1_000) for number, _ in flat]
    assert Memory(requests=10_000, samples=tuple(leak)).slope() == pytest.approx(100)


@pytest.fixture
def bench():
    machine = Machine(processor="P", features=(), cores=2, memory_gb=4, system="Linux", load=None)
    origin = Origin(
        date=datetime(2026, 1, 2, tzinfo=UTC),
        commit=None,
        command="python -m bench",
        python="3.11",
        packages={},
        machine=machine,
    )
    cell = Cell(
        server="batching",
        tokens=4_000,
        clients=8,
        rates=(10.0, 1.0, 12.0),
        seconds=(0.5, 1.25, 2.0),
        statuses={200: 97, 0: 2, 504: 1},
        own=0.25,
    )
    sentences = [
        Guarded(seconds=0.1 * (1 + n // 4), windows=1 + n // 4, tokens=9) for n in range(8)
    ]
    return ServeBench(
        origin=origin,
        judge="luna",
        cells=(cell,),
        starts=(Start(kind="cold", seconds=(3.0, 1.0, 2.0)),),
        memory=Memory(requests=1_000, samples=((0, 90.0), (500, 110.0), (1_000, 100.0))),
        answer_tokens=2_000,
        sentences=tuple(sentences),
    )


def cells_of(markdown, row):
    line = next(line for line in markdown.splitlines() if line.startswith(f"| {row}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_says_what_was_measured(bench):
    page = render(bench)
    found = cells_of(page, " 4,000")
    assert found == ["4,000", "8", "batching", "100", "10.0", "500", "1,250", "2,000", "3", "0.25"]
    assert cells_of(page, "cold") == ["cold", "3", "1.00", "2.00", "3.00"]
    assert "90 MB after the first of them, 110 MB at most, 100 MB after the last" in page
    assert cells_of(page, "first quarter") == ["first quarter", "2", "1.00", "9", "100", "100"]
    assert cells_of(page, "last") == ["last", "2", "2.00", "9", "200", "200"]


def test_what_was_not_measured_has_no_section(bench):
    page = render(ServeBench(origin=bench.origin, judge="luna"))
    assert "##" not in page


@pytest.mark.heavy
def test_the_guards_cost_grows_with_the_answers_length():
    """By what the judge reads, not by the clock: each sentence once, the last like the first."""
    tokenizer = load_tokenizer(EMBEDDED / TOKENIZER)
    with serving(load_judge("luna"), Settings(timeout=300)) as address:
        found = list(guard(running(address), 2_000, tokenizer))
    half = len(found) // 2
    assert half > 20
    for cost in ("tokens", "windows"):
        early, late = (
            sum(getattr(one, cost) for one in part) / len(part)
            for part in (found[:half], found[half:])
        )
        assert late == pytest.approx(early, rel=0.25)


@pytest.mark.heavy
def test_starts_are_measured_cold_and_warm(tmp_path):
    """Cold by one small file: the others on this machine go on with theirs in memory."""
    (tmp_path / "file").write_text("text")
    assert forget_files([tmp_path]) == 1
    assert tmp_path not in installed()
    tokenizer = load_tokenizer(EMBEDDED / TOKENIZER)
    cold, warm = measure_starts("token-similarity", 1, tokenizer, [tmp_path], lambda _: None)
    assert (cold.kind, warm.kind) == ("cold", "warm")
    assert min(*cold.seconds, *warm.seconds) > 0.1


@pytest.mark.heavy
def test_a_whole_run(tmp_path):
    sizes = "--judge token-similarity --tokens 60 --clients 2 --seconds 0.5 --rounds 1 --starts 0"
    rest = f"--requests 300 --answer-tokens 200 --out {tmp_path} --name found"
    line = [sys.executable, "-m", "tests.bench.serve.load", *sizes.split(), *rest.split()]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    bench = ServeBench.model_validate_json((tmp_path / "found.json").read_bytes())
    names = ["batching", "row by row", "batching, audit"]
    assert [cell.server for cell in bench.cells] == names
    assert all(cell.statuses.keys() == {200} for cell in bench.cells)
    assert bench.memory.samples[-1][0] == 300
    assert min(mb for _, mb in bench.memory.samples) > 30
    assert len(bench.sentences) > 5
    assert (tmp_path / "found.md").read_text() == render(bench)
