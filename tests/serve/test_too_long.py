import json
from dataclasses import replace

import pytest

from moonlynx.judge.batch.judging import read_verdicts
from moonlynx.serve.queue.limits import Limits
from moonlynx.serve.service import Settings

from .loopback import EXAMPLE, calling, until

LIMITS = Limits(answer=5_000, claims=10, documents=3, tokens=2_000)
SETTINGS = Settings(limits=LIMITS)
SENTENCE = "The bridge is old and wide.\n"
WORDS = "the bridge was built by Anna Weiss in 1849, and " * 200
# By field and limit: a row that is just within it, and one that is just over it.
ROWS = {
    "answer": ({"answer": WORDS[:5_000]}, {"answer": WORDS[:5_001]}),
    "sentences": ({"answer": SENTENCE * 10}, {"answer": SENTENCE * 11}),
    "context": ({"context": ["a"] * 3}, {"context": ["a"] * 4}),
    "row": (
        {"question": "", "answer": SENTENCE, "context": ["é" * (4_000 - len(SENTENCE) // 2)]},
        {"question": "c", "answer": SENTENCE, "context": ["é" * (4_000 - len(SENTENCE) // 2)]},
    ),
}
FIELDS = {"answer": "answer", "sentences": "answer", "context": "context", "row": "row"}
MOST = {
    "answer": "limit of 5,000",
    "sentences": "more than 10 sentences",
    "context": "limit of 3",
    "row": "limit of 2,000",
}
PAIRS = pytest.mark.parametrize("name", ROWS)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    settings = replace(SETTINGS, jobs=tmp_path_factory.mktemp("jobs"))
    with calling(settings=settings) as client:
        yield client


@PAIRS
def test_one_row_is_refused(client, name):
    within, over = ROWS[name]
    assert client.post("/v1/judge", json=EXAMPLE | within).status_code == 200
    reply = client.post("/v1/judge", json=EXAMPLE | over)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], error["param"]) == (422, "too_long", FIELDS[name])
    assert f"{FIELDS[name]}: has" in error["message"]
    assert MOST[name] in error["message"]


@PAIRS
def test_in_a_list_its_place_tells(client, name):
    within, over = ROWS[name]
    rows = [EXAMPLE | within, EXAMPLE | over, EXAMPLE]
    verdicts = client.post("/v1/judge", json=rows).json()
    assert [(one["error"] or {}).get("code") for one in verdicts] == [None, "too_long", None]
    assert verdicts[1]["id"] == EXAMPLE["id"]


@PAIRS
def test_in_a_file_its_line_tells(client, name, tmp_path):
    within, over = ROWS[name]
    lines = "".join(json.dumps(EXAMPLE | more) + "\n" for more in (over, within))
    headers = {"Content-Type": "application/jsonl"}
    job = client.post("/v1/batches", content=lines, headers=headers).json()["id"]
    until(lambda: client.get(f"/v1/batches/{job}").json()["status"] == "done")
    (tmp_path / "output").write_bytes(client.get(f"/v1/batches/{job}/output").content)
    first, second = read_verdicts(tmp_path / "output")
    assert (first.error.code, second.error) == ("too_long", None)


@PAIRS
def test_the_chat_form_and_the_guard_refuse_it(client, name):
    _, over = ROWS[name]
    row = {key: (EXAMPLE | over)[key] for key in ("question", "context", "answer")}
    model = client.get("/v1/models").json()["data"][0]["id"]
    chat = {"model": model, "messages": [{"role": "user", "content": json.dumps(row)}]}
    for path, body in (("/v1/chat/completions", chat), ("/v1/guard", row)):
        reply = client.post(path, json=body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (422, "too_long")
