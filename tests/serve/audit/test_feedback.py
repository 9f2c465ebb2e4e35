import asyncio
import sqlite3
from contextlib import closing

import pytest
from openai import OpenAI

from moonlynx import Example
from moonlynx.judge.contract.types import Range
from moonlynx.serve.audit.database import Database
from moonlynx.serve.audit.recorder import AuditSettings
from moonlynx.serve.client import AsyncClient, Client, ServerError
from moonlynx.serve.service import Settings
from moonlynx.serve.wire import example_sha256

from ..loopback import EXAMPLE, WRONG, calling, metric, until
from .test_recorder import kept

pytestmark = pytest.mark.heavy

ROW = Example.from_row(WRONG)


@pytest.fixture
def settings(sqlite):
    return Settings(audit=AuditSettings(sqlite, texts=True))


@pytest.fixture
def audited(settings):
    with calling(settings=settings) as client:
        yield client


def words(sqlite):
    with closing(Database(sqlite, make=False)) as database:
        return [(word.label, word.spans) for word in database.corrections()]


def test_the_verdict_of_one_answer_is_named_in_the_header(audited, sqlite):
    verdict = audited.post("/v1/judge", json=WRONG)
    named = {"verdict_id": verdict.headers["Moonlynx-Verdict-Id"], "label": "PASS"}
    reply = audited.post("/v1/feedback", json=named)
    assert reply.status_code == 201
    assert reply.json() == {
        "verdict_id": named["verdict_id"],
        "example_sha256": example_sha256(ROW),
    }
    assert words(sqlite) == [("PASS", None)]


def test_a_chat_completion_names_its_verdict(audited, sqlite):
    chat = OpenAI(base_url=f"{audited.base_url}/v1", api_key="-").chat.completions
    content = Example.from_row(WRONG).model_dump_json(include={"question", "context", "answer"})
    ask = {"model": "token-similarity", "messages": [{"role": "user", "content": content}]}
    whole = chat.create(**ask)
    first = next(iter(chat.create(**ask, stream=True)))
    with Client(str(audited.base_url)) as own:
        kept = [own.feedback(one.id, "FAIL") for one in (whole, first)]
    assert kept[0].example_sha256 == kept[1].example_sha256
    assert kept[0].verdict_id != kept[1].verdict_id
    assert words(sqlite) == [("FAIL", None)] * 2


def test_the_clients_name_an_example_by_its_hash(audited, sqlite):
    with Client(str(audited.base_url)) as own:
        own.judge_all([ROW, Example.from_row(EXAMPLE)])
        kept = own.feedback(ROW, "FAIL", spans=[Range(start=0, end=5)], comment="Nobody did.")
        assert kept.example_sha256 == example_sha256(ROW)
        with pytest.raises(ServerError, match="no verdict with this id") as error:
            own.feedback("0" * 32, "PASS")
        assert (error.value.status, error.value.code) == (404, "not_found")

    async def run():
        async with AsyncClient(str(audited.base_url)) as own:
            return await own.feedback(kept.verdict_id, "PASS")

    assert asyncio.run(run()) == kept
    assert words(sqlite) == [("FAIL", [(0, 5)]), ("PASS", None)]


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"label": "WRONG"}, "label"),
        ({"spans": [{"start": 0, "end": 4_000}]}, "spans.0.end"),
    ],
)
def test_a_bad_word_is_refused_by_field(audited, change, param):
    verdict = audited.post("/v1/judge", json=WRONG)
    good = {"verdict_id": verdict.headers["Moonlynx-Verdict-Id"], "label": "FAIL"}
    reply = audited.post("/v1/feedback", json=good | change)
    assert reply.status_code == 422
    assert reply.json()["error"]["param"] == param


def test_every_way_in_is_kept_and_none_without_an_audit(audited, sqlite, client):
    audited.post("/v1/judge", json=[EXAMPLE, WRONG, {"context": "no answer"}])
    audited.post("/v1/guard", json={"context": "It is.", "answer": "It is. ", "final": True})
    audited.post("/v1/judge", json=WRONG)
    until(lambda: kept(sqlite) == 4)  # what is no Example was not judged
    assert "Moonlynx-Verdict-Id" not in client.post("/v1/judge", json=EXAMPLE).headers
    word = {"verdict_id": "0" * 32, "label": "PASS"}
    assert client.post("/v1/feedback", json=word).status_code == 404


def test_the_end_of_the_server_writes_what_waits(settings, sqlite):
    with calling(settings=settings) as client:
        client.post("/v1/judge", json=[EXAMPLE] * 700)
    assert kept(sqlite) == 700


def test_a_failing_database_fails_no_judgement(audited, tmp_path, monkeypatch):
    monkeypatch.setattr("moonlynx.serve.audit.recorder._PAUSES", (0.01,))
    before = audited.post("/v1/judge", json=WRONG)
    with sqlite3.connect(tmp_path / "audit.db") as connection:
        connection.execute("DROP TABLE moonlynx_verdicts")
    after = audited.post("/v1/judge", json=WRONG)
    assert (after.status_code, after.content) == (200, before.content)
    until(lambda: metric(audited, "moonlynx_audit_dropped_total", reason="failed") == 1)
    word = {"verdict_id": after.headers["Moonlynx-Verdict-Id"], "label": "PASS"}
    reply = audited.post("/v1/feedback", json=word)
    assert reply.status_code == 503
    assert "send it again" in reply.json()["error"]["message"]
    assert int(reply.headers["Retry-After"]) > 0
    assert "sqlite" not in reply.text
