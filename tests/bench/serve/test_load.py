"""The bench of the servers: what it counts, a whole run at tiny size, and the guard's cost."""

import json
import os
import time
from collections import Counter

import pytest

from moonlynx import load_judge
from moonlynx.judge.judges.luna.weights import EMBEDDED, TOKENIZER, load_tokenizer
from moonlynx.serve.queue.batching import Batching
from moonlynx.serve.service import Settings

from ...serve.loopback import EXAMPLE, Gated, serving
from ..record import BenchError
from .drive import Seen, drive
from .measures import Subjects, guard, measure_starts, slope, under_load
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


@pytest.mark.heavy
def test_clients_stop_when_the_time_is_up():
    with serving() as address:
        seen = drive(running(address), [json.dumps(EXAMPLE).encode()], 2, seconds=0.3)
    assert seen.statuses.keys() == {200}
    assert seen.wall > 0.3


@pytest.mark.heavy
def test_no_more_clients_ask_at_once_than_said():
    judge = Gated()
    judge.gate.set()
    with serving(judge, Settings(batching=Batching(wait=0.05))) as address:
        drive(running(address), [json.dumps(EXAMPLE).encode()], 3, requests=30)
    assert 1 < max(map(len, judge.batches)) <= 3


def test_a_request_without_an_answer_is_counted():
    with serving() as address:
        pass  # the server has ended
    seen = drive(running(address), [b"{}"], 1, requests=3)
    assert seen.statuses == {0: 3}
    assert seen.latencies == []


def test_memory_that_grows_is_seen():
    flat = [(number, 100.0 + number % 2) for number in range(0, 10_001, 100)]
    assert abs(slope(flat, 10_000)) < 1
    # A cache that fills in the first tenth is no leak; what keeps growing is one.
    leak = [(number, 100.0 + min(number, 1_000) + number / 1_000) for number, _ in flat]
    assert slope(leak, 10_000) == pytest.approx(100)
    assert slope([(0, 90.0), (10_000, 100.0)], 10_000) is None


def test_a_load_is_of_all_rounds():
    seen = [
        Seen([0.5, 1.0], Counter({200: 2, 504: 1}), wall=2.0, own=0.1),
        Seen([2.0], Counter({200: 1, 0: 1}), wall=4.0, own=0.2),
    ]
    found = under_load({"tokens": 60}, seen)
    assert found.samples == (1.0, 0.25)
    assert (found.found["answers"], found.found["not 200"]) == (5, 2)
    assert (found.found["p50 ms"], found.found["clients' share"]) == (1_000, 0.2)
    with pytest.raises(BenchError, match="no request was answered"):
        under_load({"tokens": 60}, [Seen()])


@pytest.mark.heavy
def test_the_guards_cost_grows_with_the_answers_length():
    """By what the judge reads, not by the clock: each sentence once, the last like the first."""
    tokenizer = load_tokenizer(EMBEDDED[None] / TOKENIZER)
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
    tokenizer = load_tokenizer(EMBEDDED[None] / TOKENIZER)
    subjects = Subjects("token-similarity", tokenizer, tmp_path, None)
    cold, warm = measure_starts(subjects, 1, [tmp_path])
    assert (cold.of["start"], warm.of["start"]) == ("cold", "warm")
    assert min(*cold.samples, *warm.samples) > 0.1


@pytest.mark.heavy
def test_a_whole_run(bench):
    sizes = "--judge token-similarity --tokens 60 --clients 2 --seconds 0.5 --rounds 1 --starts 0"
    rest = "--requests 300 --answer-tokens 200 --long 3000"
    done, found = bench("serve.load", *sizes.split(), *rest.split())
    assert done.returncode == 0, done.stderr[-3000:]
    tables = {}
    for each in found.measurements:
        tables.setdefault(each.table, []).append(each)
    names = ["batching", "row by row", "batching, audit"]
    assert [each.of["server"] for each in tables["Load"]] == names
    assert all(each.found["not 200"] == 0 for each in tables["Load"])
    (memory,) = tables["Memory, with an audit that keeps texts"]
    assert memory.of == {"requests": 300}
    assert min(memory.samples) > 30
    guarded = tables["The guard, by quarters of the answer"]
    assert [each.of["quarter"] for each in guarded] == [1, 2, 3, 4]
    beside = tables["Short answers beside long ones"]
    assert [each.found["not 200"] for each in beside] == [0, 0, 0]
