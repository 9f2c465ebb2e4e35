"""Requests take turns by pieces of work: told by the row of each piece, never by the clock."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from moonlynx import Example
from moonlynx.serve.service import Settings

from ..waiting import until_async
from .loopback import EXAMPLE, Pieces, calling, connect, metric, queueing, raw, until

ALONE = {"characters": 1}  # every row is a batch of its own
LONG = 500  # pieces


def row(name, pieces):
    return Example(id=name, context="a", answer="b" * pieces)


async def begun(judge, pieces=1):
    await until_async(lambda: len(judge.pieces) >= pieces)


@pytest.mark.parametrize("batching", [ALONE, {}])
def test_a_short_answer_does_not_wait_for_a_long_one(batching):
    async def run():
        judge = Pieces()
        async with queueing(judge, **batching) as batcher:
            (long,) = batcher.submit([row("long", LONG)])
            await begun(judge)
            (short,) = batcher.submit([row("short", 3)])
            judge.gate.set()
            assert (await short).id == "short"
            assert judge.done == ["short"]
            # Those of a request that is new as well, and the oldest's turns.
            assert judge.pieces.count("long") <= 50
            assert (await long).id == "long"
        return judge

    assert Counter(asyncio.run(run()).pieces) == {"long": LONG, "short": 3}


def test_a_short_answer_is_not_put_together_with_a_long_one():
    async def run():
        judge = Pieces()
        judge.gate.set()
        async with queueing(judge) as batcher:
            rows = [row("long", LONG), row("short", 3), row("other", 5)]
            long, *short = [batcher.submit([one])[0] for one in rows]
            await asyncio.gather(*short)
            assert not long.done()
            await long
        return judge

    assert asyncio.run(run()).done == ["short", "other", "long"]


def test_a_long_answer_goes_on_beside_any_number_of_short_ones():
    async def run():
        judge = Pieces()
        judge.gate.set()
        async with queueing(judge, **ALONE) as batcher:
            (long,) = batcher.submit([row("long", 100)])
            shorts = [batcher.submit([row(n, 3)])[0] for n in range(200)]
            await long
            counts = Counter(name == "long" for name in judge.pieces)
            assert counts[True] == 100
            assert counts[False] <= 4 * 100
            await asyncio.gather(*shorts)

    asyncio.run(run())


def test_a_list_of_rows_has_no_more_turns_than_one_row():
    async def run():
        judge = Pieces()
        async with queueing(judge, **ALONE) as batcher:
            many = batcher.submit([row(f"many {n}", 4) for n in range(100)])
            await begun(judge)
            (one,) = batcher.submit([row("one", 4)])
            judge.gate.set()
            await one
            assert len(judge.done) <= 12
            await asyncio.gather(*many)

    asyncio.run(run())


def test_the_backlog_is_what_is_left_of_rows_with_a_deadline():
    async def run():
        judge = Pieces()
        async with queueing(judge, **ALONE) as batcher:
            assert batcher.backlog() == 0
            waits = batcher.submit([row("file", LONG)], patient=True)
            await begun(judge)
            assert batcher.backlog() == 0
            (long,) = batcher.submit([row("long", LONG)])
            judge.gate.set()
            await begun(judge, LONG // 2)
            some = batcher.backlog()
            assert some > 0
            (more,) = batcher.submit([row("more", 2 * LONG)])
            assert batcher.backlog() >= some
            await asyncio.gather(long, more, *waits)
            assert batcher.backlog() == 0

    asyncio.run(run())


def judge_one(client, name, pieces):
    return client.post("/v1/judge", json=EXAMPLE | {"id": name, "answer": "b" * pieces})


@pytest.mark.heavy
def test_a_request_over_its_time_is_worked_at_no_more():
    judge = Pieces()
    with calling(judge, Settings(timeout=0.5)) as client:
        late = judge_one(client, "late", LONG)
        assert (late.status_code, late.json()["error"]["code"]) == (504, "timeout")
        judge.gate.set()
        until(lambda: judge_one(client, "next", 1).status_code == 200)
        assert judge.pieces.count("late") <= 3


def test_a_request_whose_client_is_gone_is_worked_at_no_more():
    judge = Pieces()
    with calling(judge) as client:
        with connect(str(client.base_url)) as leaving:
            leaving.sendall(raw(EXAMPLE | {"id": "gone", "answer": "b" * LONG}))
            until(lambda: judge.pieces)
        until(lambda: metric(client, "moonlynx_requests_total", status="499") == 1)
        judge.gate.set()
        assert judge_one(client, "next", 1).status_code == 200
    assert judge.pieces.count("gone") <= 3
    assert judge.done == ["next"]


def test_a_server_whose_queue_is_late_is_not_ready():
    judge = Pieces(far=1e-12)  # as though years of work were left
    with calling(judge) as client, ThreadPoolExecutor(1) as pool:
        assert client.get("/readyz").status_code == 200
        asked = pool.submit(judge_one, client, "long", 3)
        until(lambda: client.get("/readyz").status_code == 503)
        error = client.get("/readyz").json()["error"]
        assert error["code"] == "not_ready"
        assert "beyond its deadline of 30 seconds" in error["message"]
        judge.gate.set()
        assert asked.result().status_code == 200
        assert client.get("/readyz").status_code == 200
