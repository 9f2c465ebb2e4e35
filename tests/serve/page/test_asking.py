import asyncio
import json

import pytest

from moonlynx import Verdict, load_judge
from moonlynx.serve.page.answers import judge_answer, judge_file, split_documents
from moonlynx.serve.queue.batching import Batching
from moonlynx.serve.service import Service, Settings

from ...cases import cases
from ...waiting import until_async
from ..loopback import EXAMPLE, WRONG, Gated

NAME = "token-similarity"


def with_service(work, judge=None, settings=None):

    async def run():
        service = Service(judge or load_judge(NAME), settings or Settings())
        queue = asyncio.create_task(service.batcher.run())
        try:
            return await work(service)
        finally:
            queue.cancel()

    return asyncio.run(run())


def ask(service, answer=EXAMPLE["answer"], documents=EXAMPLE["context"][0], names=(NAME,)):
    services = dict.fromkeys(names, service)
    return judge_answer(services, names, EXAMPLE["question"], documents, answer)


@pytest.mark.parametrize(("text", "documents"), cases(__file__, "documents"))
def test_documents_are_parted_by_lines_of_dashes(text, documents):
    assert split_documents(text) == documents


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"answer": "  "}, "answer: holds no text to judge"),
        ({"documents": "---"}, "context: holds no text; pass at least one document"),
    ],
)
def test_what_cannot_be_judged_is_said(fields, message):
    html = with_service(lambda service: ask(service, **fields))
    assert 'role="alert"' in html
    assert message in html


def test_a_full_queue_is_said():
    judge = Gated()

    async def work(service):
        others = [asyncio.create_task(ask(service))]
        await until_async(lambda: judge.batches)
        others.append(asyncio.create_task(ask(service)))
        await until_async(lambda: service.batcher.waiting == 1)
        html = await ask(service)
        judge.gate.set()
        await asyncio.gather(*others)
        return html

    settings = Settings(Batching(characters=1, queue=1))
    html = with_service(work, judge, settings)
    assert f"{NAME}: 1 rows are waiting; try again in 1 seconds" in html
    assert 'role="alert"' in html


def judge_lines(*lines, **settings):

    async def work(service):
        steps = [step async for step in judge_file(service, [line.encode() for line in lines])]
        verdicts = b"".join(new for _, new in steps).splitlines()
        return [html for html, _ in steps], [Verdict.model_validate_json(one) for one in verdicts]

    return with_service(work, settings=Settings(**settings))


def test_a_file_is_judged_row_by_row():
    rows = [json.dumps(row) for row in (EXAMPLE, WRONG)] * 50
    shown, verdicts = judge_lines(*rows, batching=Batching(queue=10))
    assert [verdict.score for verdict in verdicts] == ["PASS", "FAIL"] * 50
    assert [verdict.id for verdict in verdicts[:2]] == ["bridge", "wrong"]
    assert len(shown) == 11
    assert "0 of 100 rows" in shown[0]
    assert "10 of 100 rows" in shown[1]
    assert "<table" not in shown[-2]
    assert "100 of 100 rows" in shown[-1]
    assert "PASS 50" in shown[-1]
    assert "FAIL 50" in shown[-1]
    assert shown[-1].count("<tr>") == 101


def test_a_row_that_cannot_be_read_names_line_and_field():
    rows = [json.dumps(EXAMPLE), "{<b>", '{"answer": "x"}', '{"context": ["x"], "answer": " "}']
    shown, verdicts = judge_lines(*rows)
    assert [verdict.score for verdict in verdicts] == ["PASS", None, None, None]
    assert "line 2, row: is not a JSON object" in shown[-1]
    assert "line 3, context: is missing" in shown[-1]
    assert "line 4, answer: holds no text to judge" in shown[-1]
    assert "unscored 3</b> (bad_input 2, empty_answer 1)" in shown[-1]
    assert "the file: holds no rows" in judge_lines("")[0][0]
