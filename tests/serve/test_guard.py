import asyncio

import pytest

from moonlynx.serve.client import AsyncClient, Client, ServerError
from moonlynx.serve.growing import GuardEvent, may_be_judged
from moonlynx.serve.service import Settings

from ..cases import cases
from .loopback import Gated, calling, serving

CONTEXT = ["The bridge was built in 1849 by Anna Weiss. It has 4.5 km of rails."]
GOOD = "The bridge was built in 1849. Anna Weiss built it. It has 4.5 km of rails."
BAD = "The bridge was built in 1849. Peter Smith tore down two towers. It has 4.5 km of rails."


def events(reply):
    assert reply.headers["content-type"].startswith("text/event-stream")
    found = [line for line in reply.text.splitlines() if line.startswith("data: ")]
    return [GuardEvent.model_validate_json(line.removeprefix("data: ")) for line in found]


def post(client, answer, **more):
    return client.post("/v1/guard", json={"context": CONTEXT, "answer": answer, **more})


def pieces(text, size=5):
    return [text[start : start + size] for start in range(0, len(text), size)]


def test_whole_sentences_are_judged_marks_are_none_and_the_rest_waits(client):
    first, second, last = events(post(client, GOOD[:56]))
    assert [first.event, second.event, last.event] == ["sentence", "sentence", "judged"]
    assert GOOD[first.start : first.end] == "The bridge was built in 1849."
    assert GOOD[second.start : second.end] == "Anna Weiss built it."
    assert last.judged == second.end
    (third, end) = events(post(client, GOOD, judged=last.judged, final=True))
    assert GOOD[third.start : third.end] == "It has 4.5 km of rails."
    assert end.judged == len(GOOD)
    (nothing,) = events(post(client, GOOD, judged=len(GOOD), final=True))
    assert nothing.judged == len(GOOD)
    found = events(post(client, "It has 4.5 km of rails.\n\n---\n\n🎉\n", final=True))
    assert [event.event for event in found] == ["sentence", "judged"]
    assert found[0].verdict.score == "PASS"


def test_the_first_hallucination_halts(client):
    found = events(post(client, BAD, final=True))
    assert [event.event for event in found] == ["sentence", "sentence", "halt"]
    assert BAD[found[-1].start : found[-1].end] == "Peter Smith tore down two towers."
    assert found[1].verdict.score == "FAIL"
    for span in found[1].verdict.spans:
        assert BAD[span.start : span.end] == span.text
    assert [one.start for one in found[1].verdict.sentences] == [found[1].start]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_client_hands_on_pieces_of_any_size(client, size):
    with Client(str(client.base_url)) as own:
        good = list(own.guard(pieces(GOOD, size), CONTEXT, "When?"))
        bad = list(own.guard(pieces(BAD, size), CONTEXT, "When?"))
    assert [event.event for event in good] == ["sentence"] * 3
    assert [GOOD[event.start : event.end] for event in good] == [
        "The bridge was built in 1849.",
        "Anna Weiss built it.",
        "It has 4.5 km of rails.",
    ]
    assert [event.event for event in bad] == ["sentence", "sentence", "halt"]


def test_a_halt_comes_before_the_answer_is_finished(client):
    read = []

    def written():
        for piece in pieces(BAD):
            read.append(piece)
            yield piece

    with Client(str(client.base_url)) as own:
        assert list(own.guard(written(), CONTEXT))[-1].event == "halt"
    assert len("".join(read)) < len(BAD) - 10


def test_the_async_client_gives_the_same(client):
    async def written():
        for piece in pieces(BAD):
            yield piece

    async def run():
        async with AsyncClient(str(client.base_url)) as own:
            return [event async for event in own.guard(written(), CONTEXT)]

    with Client(str(client.base_url)) as own:
        assert asyncio.run(run()) == list(own.guard(pieces(BAD), CONTEXT))


class Keeps(Gated):
    def __init__(self):
        super().__init__()
        self.gate.set()
        self.rows = []

    def __call__(self, examples):
        self.rows += examples
        return super().__call__(examples)


def test_each_sentence_is_judged_once_with_a_bounded_lead():
    """So the work grows with the answer's length, whatever the size of the pieces."""
    judge = Keeps()
    text = " ".join([GOOD] * 5)
    with serving(judge) as address, Client(address) as own:
        found = list(own.guard(pieces(text, 40), CONTEXT, "When?"))
    assert len(found) == 15
    assert [row.answer for row in judge.rows] == [text[one.start : one.end] for one in found]
    assert max(len(row.question) for row in judge.rows) < 160
    assert judge.rows[-1].question.startswith("When?\n")
    assert judge.rows[-1].question.endswith("Anna Weiss built it.")


@pytest.mark.parametrize(("answer", "whole"), cases(__file__, "whole"))
def test_when_a_sentence_is_whole(answer, whole):
    assert may_be_judged(answer, 0) is whole


def test_a_slow_judge_ends_the_stream_with_an_error():
    judge = Gated()
    with calling(judge, Settings(timeout=0.2)) as client:
        (last,) = events(post(client, GOOD, final=True))
        assert last.event == "error"
        assert last.error.code == "timeout"
        with Client(str(client.base_url)) as own, pytest.raises(ServerError, match="no verdict"):
            list(own.guard([GOOD], CONTEXT))
        judge.gate.set()
