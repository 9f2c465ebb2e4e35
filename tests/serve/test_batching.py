import asyncio

import pytest

from moonlynx import Example, load_judge
from moonlynx.judge.contract.types import JudgeInfo, Verdict
from moonlynx.serve.queue.batching import QueueFull

from .loopback import queueing

JUDGE = load_judge("token-similarity")


def row(number, characters=100):
    return Example(id=number, context=["x" * (characters - 1)], answer="y")


def test_requests_share_a_batch_up_to_the_budget():
    batches = []

    def on_batch(rows, _):
        batches.append(rows)

    async def run():
        async with queueing(JUDGE, on_batch, characters=250, wait=0.05) as batcher:
            futures = [future for n in range(5) for future in batcher.submit([row(n)])]
            assert batcher.waiting == 5
            verdicts = await asyncio.gather(*futures)
            assert [verdict.id for verdict in verdicts] == [0, 1, 2, 3, 4]
            assert batches == [2, 2, 1]
            assert batcher.waiting == 0

    asyncio.run(run())


@pytest.mark.parametrize("characters", [1, 150, 300, 10_000])
def test_batching_changes_no_verdict(characters):
    rows = [
        Example(id=n, question="Who?", context=[f"Ann has {n} cats."], answer=f"Ann has {n % 3}.")
        for n in range(20)
    ]

    async def run():
        async with queueing(JUDGE, characters=characters) as batcher:
            return await asyncio.gather(*batcher.submit(rows))

    assert asyncio.run(run()) == JUDGE(rows)


def test_a_request_is_queued_whole_or_not_at_all():
    async def run():
        async with queueing(JUDGE, queue=3) as batcher:
            first = batcher.submit([row(1), row(2)])
            with pytest.raises(QueueFull, match="2 rows are waiting") as refused:
                batcher.submit([row(3), row(4)])
            assert refused.value.retry_after >= 1
            assert batcher.waiting == 2
            await asyncio.gather(*first)
            await asyncio.gather(*batcher.submit([row(3), row(4)]))

    asyncio.run(run())


SECRET = "what an answer said"


class Watched:
    info = JudgeInfo(name="watched", version="1")

    def __init__(self):
        self.seen = []

    def __call__(self, examples):
        self.seen += [example.id for example in examples]
        if any(example.id == "bad" for example in examples):
            raise ValueError(SECRET)
        return [Verdict(id=example.id, score="PASS", judge=self.info) for example in examples]


def test_a_fault_of_one_row_harms_no_other(caplog):
    async def run():
        async with queueing(Watched()) as batcher:
            return await asyncio.gather(*batcher.submit([row(1), row("bad"), row(3)]))

    one, bad, three = asyncio.run(run())
    assert [one.score, bad.score, three.score] == ["PASS", None, "PASS"]
    assert bad.error.code == "backend"
    assert "ValueError" in bad.error.message
    # What the exception said may be judged text.
    assert SECRET not in bad.error.message + caplog.text
    assert "watched failed: ValueError" in caplog.text


def test_batches_run_side_by_side_where_asked():
    class Waits(Watched):
        beside = asyncio.Barrier(3)

        async def acall(self, examples):
            await self.beside.wait()
            return self(examples)

    async def run():
        async with queueing(Waits(), characters=1, parallel=3) as batcher:
            async with asyncio.timeout(5):
                verdicts = await asyncio.gather(*batcher.submit([row(1), row(2), row(3)]))
            assert [verdict.id for verdict in verdicts] == [1, 2, 3]

    asyncio.run(run())
