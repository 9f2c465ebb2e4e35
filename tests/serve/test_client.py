import asyncio
import hashlib

import httpx
import pytest

from moonlynx import Example, load_judge
from moonlynx.serve.client import AsyncClient, Client, ServerError
from moonlynx.serve.queue.batching import Batching
from moonlynx.serve.service import Settings

from .loopback import EXAMPLE, WRONG, Gated, metric, serving, until

ROWS = [Example.from_row(EXAMPLE), Example.from_row(WRONG)]


def test_verdicts_are_those_of_the_judge_in_process(client):
    expected = load_judge("token-similarity")(ROWS)
    with Client(str(client.base_url)) as own:
        assert own.judge_all(ROWS) == expected
        assert own.judge(ROWS[1]) == expected[1]
        assert own.judge_all([]) == []

    async def run():
        async with AsyncClient(str(client.base_url)) as own:
            assert await own.judge_all(ROWS) == expected
            assert await asyncio.gather(*map(own.judge, ROWS)) == expected

    asyncio.run(run())


def test_errors_say_what_to_do():
    settings = Settings(keys=(hashlib.sha256(b"key").hexdigest().encode(),))
    with serving(settings=settings) as address:
        with Client(address) as own, pytest.raises(ServerError, match="send a known key") as error:
            own.judge(ROWS[0])
        assert (error.value.status, error.value.code) == (401, "unauthorized")
        with Client(address, api_key="key") as own:
            assert own.judge(ROWS[0]).score == "PASS"
    with Client(address) as own, pytest.raises(ServerError, match="is `moonlynx serve` running"):
        own.judge(ROWS[0])


def refused(address):
    with httpx.Client(base_url=address) as client:
        return metric(client, "moonlynx_requests_total", status="429")


@pytest.mark.heavy
def test_a_busy_server_is_asked_again():
    judge = Gated()
    settings = Settings(batching=Batching(queue=1))
    with serving(judge, settings) as address, Client(address) as own:

        async def run():
            async with AsyncClient(address) as other:
                first = asyncio.create_task(other.judge(ROWS[0]))
                await asyncio.to_thread(until, lambda: judge.batches)
                rest = [asyncio.create_task(other.judge(ROWS[1])) for _ in range(2)]
                await asyncio.to_thread(until, lambda: refused(address))
                judge.gate.set()
                return [await task for task in (first, *rest)]

        verdicts = asyncio.run(run())
        assert [verdict.score for verdict in verdicts] == ["PASS", "FAIL", "FAIL"]
        assert own.judge(ROWS[0]).score == "PASS"
