import json

import pytest

from moonlynx import Example, Verdict, load_judge
from moonlynx.judge.batch.judging import judge_batch
from moonlynx.judge.rows.examples import read_jsonl

from ..cases import cases
from .loopback import EXAMPLE, WRONG, metric


def in_process(*rows):
    return load_judge("token-similarity")([Example.from_row(row) for row in rows])


def test_an_example_gives_the_verdict_of_the_judge_and_a_deep_body_none(client):
    reply = client.post("/v1/judge", json=EXAMPLE)
    assert reply.status_code == 200
    assert reply.text == in_process(EXAMPLE)[0].model_dump_json()
    assert Verdict.model_validate_json(reply.content).score == "PASS"
    assert reply.headers["server-timing"].startswith("total;dur=")
    reply = client.post("/v1/judge", content=b"[" * 200_000, headers=JSON)
    assert reply.status_code in (400, 422)
    assert reply.json()["error"]["type"] == "invalid_request_error"


def test_the_rows_of_other_tools_get_the_verdicts_that_files_of_them_get(client):
    rows = [
        {"user_input": "Q?", "retrieved_contexts": EXAMPLE["context"], "response": "No.", "n": 1},
        {"input": "Q?", "context": None, "retrieval_context": ["No."], "actual_output": "No."},
        {"contexts": ["a"], "expected_output": "b"},
        {"id": "r", "context": "a", "documents": ["b"], "answer": "c"},
    ]
    lines = [json.dumps(row).encode() for row in rows]
    from_file = judge_batch(load_judge("token-similarity"), list(read_jsonl(lines)))
    verdicts = [Verdict.model_validate(one) for one in client.post("/v1/judge", json=rows).json()]
    assert [verdict.score is None for verdict in verdicts] == [False, False, True, True]
    for number, (verdict, wanted) in enumerate(zip(verdicts, from_file, strict=True), start=1):
        if wanted.error is not None:  # a file's error says which line
            message = wanted.error.message.removeprefix(f"line {number}, ")
            wanted = wanted.model_copy(
                update={"error": wanted.error.model_copy(update={"message": message})}
            )
        assert verdict == wanted
    alone = client.post("/v1/judge", json=rows[0])
    assert alone.text == from_file[0].model_dump_json()


def test_a_bad_row_of_many_gets_its_own_error(client):
    bad = [
        {"id": 7, "context": ["text"], "answer": " "},
        {"id": True, "context": "text", "answer": "text"},
        {"context": [], "answer": "text"},
        "no object",
        EXAMPLE | {"response": "another answer"},
        {"id": "\ud800", "context": "text"},
    ]
    verdicts = client.post("/v1/judge", content=json.dumps([EXAMPLE, *bad, WRONG]), headers=JSON)
    assert verdicts.status_code == 200
    first, *between, last = [Verdict.model_validate(one) for one in verdicts.json()]
    assert [first, last] == in_process(EXAMPLE, WRONG)
    codes = ["empty_answer", "bad_input", "empty_context", "bad_input", "bad_input", "bad_input"]
    assert [verdict.error.code for verdict in between] == codes
    assert [verdict.id for verdict in between] == [7, None, None, None, "bridge", None]
    assert "twice, as answer and response" in between[4].error.message
    assert client.post("/v1/judge", json=[]).json() == []


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(("path", "body", "code", "param", "fix"), cases(__file__, "refused"))
def test_a_bad_body_is_refused_by_field_and_fix(client, path, body, code, param, fix):
    reply = client.post(path, content=body, headers=JSON)
    assert reply.status_code == 422
    error = reply.json()["error"]
    assert (error["code"], error["param"]) == (code, param)
    assert fix in error["message"]
    assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize(("path", "status"), [("/v2/judge", 404), ("/v1/judge", 405)])
def test_other_ways_in_have_the_same_form_of_error(client, path, status):
    reply = client.get(path)
    assert reply.status_code == status
    assert set(reply.json()["error"]) == {"code", "message", "type", "param"}


def test_verdicts_are_counted_and_texts_are_not_told(client):
    names = ("moonlynx_verdicts_total", "moonlynx_unscored_total")
    before = [metric(client, names[0], score="FAIL"), metric(client, names[1], code="empty_answer")]
    client.post("/v1/judge", json=[WRONG, WRONG, EXAMPLE | {"answer": " "}])
    assert metric(client, names[0], score="FAIL") == (before[0] or 0) + 2
    assert metric(client, names[1], code="empty_answer") == (before[1] or 0) + 1
    assert 0 <= metric(client, "moonlynx_pass_rate") < 1
    assert metric(client, "moonlynx_queue_rows") == 0
    judged = {"method": "POST", "route": "/v1/judge", "status": "200"}
    assert metric(client, "moonlynx_requests_total", **judged) >= 1
    assert "Glasgow" not in client.get("/metrics").text


def test_the_openapi_names_the_contracts_records_and_health_is_told(client):
    found = client.get("/openapi.json").json()
    assert {"/v1/judge", "/v1/chat/completions", "/v1/models", "/readyz"} <= found["paths"].keys()
    schemas = found["components"]["schemas"]
    assert {"Example", "Verdict", "ErrorBody"} <= schemas.keys()
    assert schemas["Example"]["properties"].keys() == Example.model_fields.keys()
    assert client.get("/docs").status_code == 404
    assert client.get("/healthz").json() == {"status": "alive"}
    assert client.get("/readyz").json()["judge"] == "token-similarity"


def test_messages_are_judged_and_bad_ones_refused(client):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "When was it opened?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "The bridge was opened in 1932."},
        {"role": "assistant", "content": "The bridge was opened in 1932."},
    ]
    verdict = client.post("/v1/judge", json={"messages": messages}).json()
    assert verdict["score"] == "PASS"
    assert {one["source"] for one in verdict["sentences"][0]["evidence"]} == {"c"}
    reply = client.post("/v1/judge", json={"messages": messages[2:]})
    assert reply.status_code == 422
    assert "messages[0].tool_call_id" in reply.text
