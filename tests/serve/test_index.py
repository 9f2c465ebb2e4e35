"""A server over an index: requests name documents, or none."""

import pytest

from moonlynx.judge.index.store import update
from moonlynx.judge.registry import load_judge
from moonlynx.judge.rows.fields import ALL_DOCUMENTS, FieldMap
from moonlynx.serve.service import Settings

from .loopback import calling
from .test_guard import events

TEXTS = {
    "bridge.md": "The bridge was built in 1849 by a guild of masons.",
    "tower.md": "The tower has four bells and a clock from 1901.",
}
SETTINGS = Settings(fields=FieldMap(absent={"context": ALL_DOCUMENTS}))


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    update(folder, iter(TEXTS.items()))
    with calling(load_judge(f"token-similarity?index={folder}"), SETTINGS) as client:
        yield client


def judge(client, **row):
    return client.post("/v1/judge", json=row).json()


def test_a_row_may_omit_its_context_or_name_documents(client):
    whole = judge(client, answer="The tower has four bells.")
    assert whole["score"] == "PASS"
    assert whole["sentences"][0]["evidence"][0]["document"] == 1
    named = judge(client, answer="The tower has four bells.", context=["tower.md"])
    assert named["sentences"][0]["evidence"][0]["document"] == 0
    other = judge(client, answer="The tower has four bells.", context=["bridge.md"])
    assert other["score"] == "FAIL"
    text = judge(client, answer="It opened in 1932.", context="It opened in 1932.")
    assert text["score"] == "PASS"


def test_a_name_that_is_not_there_is_an_error_of_its_row(client):
    reply = client.post("/v1/judge", json=[{"answer": "It is old.", "context": "bridg.md"}])
    (verdict,) = reply.json()
    assert verdict["error"] == {
        "code": "bad_input",
        "message": "context: the index has no document bridg.md; did you mean bridge.md?",
    }


def test_the_guard_and_the_chat_model_read_the_index_too(client):
    answer = "The tower has four bells. Peacocks tore down two lanterns. "
    found = events(client.post("/v1/guard", json={"answer": answer, "final": True}))
    assert [one.event for one in found] == ["sentence", "sentence", "halt"]
    row = {"role": "user", "content": '{"answer": "The tower has four bells."}'}
    reply = client.post(
        "/v1/chat/completions", json={"model": "token-similarity", "messages": [row]}
    )
    assert '"SCORE": "PASS"' in reply.json()["choices"][0]["message"]["content"]
