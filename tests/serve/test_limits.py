import asyncio
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from moonlynx.judge.contract.types import BadInput, MoonlynxError
from moonlynx.serve.counters import Counters
from moonlynx.serve.http.middleware import Observe, read_keys
from moonlynx.serve.queue.batching import Batching
from moonlynx.serve.service import Settings

from .loopback import EXAMPLE, HEAD, WRONG, Gated, calling, connect, metric, serving, until


def judge_rows(client, *rows):
    return client.post("/v1/judge", json=list(rows) if len(rows) > 1 else rows[0])


def test_a_full_queue_says_when_to_come_back():
    judge = Gated()
    settings = Settings(batching=Batching(queue=2))
    with calling(judge, settings) as client, ThreadPoolExecutor() as pool:
        first = pool.submit(judge_rows, client, EXAMPLE)
        until(lambda: judge.batches)
        second = pool.submit(judge_rows, client, EXAMPLE, WRONG)
        until(lambda: metric(client, "moonlynx_queue_rows") == 2)
        refused = judge_rows(client, EXAMPLE)
        assert refused.status_code == 429
        assert refused.json()["error"]["code"] == "busy"
        assert int(refused.headers["Retry-After"]) >= 1
        too_many = judge_rows(client, EXAMPLE, EXAMPLE, EXAMPLE)
        assert too_many.status_code == 413
        assert "at most 2" in too_many.json()["error"]["message"]
        judge.gate.set()
        assert first.result().json()["score"] == "PASS"
        assert [verdict["score"] for verdict in second.result().json()] == ["PASS", "FAIL"]


def test_a_large_body_is_refused_announced_or_not():
    large = json.dumps(EXAMPLE | {"answer": "long " * 400_000}).encode()
    headers = {"Content-Type": "application/json"}
    with calling(settings=Settings(max_body=1_000_000)) as client:
        announced = client.post("/v1/judge", content=large, headers=headers)
        parts = (large[start : start + 50_000] for start in range(0, len(large), 50_000))
        chunked = client.post("/v1/judge", content=parts, headers=headers)
        for reply in (announced, chunked):
            assert reply.status_code == 413
            assert reply.json()["error"]["code"] == "too_large"
            assert "1,000,000 bytes" in reply.json()["error"]["message"]
        assert judge_rows(client, EXAMPLE).json()["score"] == "PASS"


def test_a_body_that_does_not_come_in_is_given_up():
    with serving(settings=Settings(timeout=0.2)) as address, connect(address) as slow:
        slow.sendall(f"{HEAD}Content-Length: 100\r\n\r\n{{".encode())
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")


def test_only_known_keys_open(tmp_path):
    file = tmp_path / "keys"
    lines = [hashlib.sha256(key).hexdigest() for key in (b"first-key", b"second-key")]
    file.write_text(f"# of two people\n{lines[0]}  -\n\n{lines[1]} Ann\n")
    with calling(settings=Settings(keys=read_keys(file))) as client:
        for headers in ({}, {"Authorization": "Bearer third"}, {"Authorization": "first-key"}):
            refused = client.post("/v1/judge", json=EXAMPLE, headers=headers)
            assert refused.status_code == 401
            assert refused.json()["error"]["type"] == "authentication_error"
            assert client.get("/metrics", headers=headers).status_code == 401
        for key in ("first-key", "second-key"):
            headers = {"Authorization": f"Bearer {key}"}
            assert client.post("/v1/judge", json=EXAMPLE, headers=headers).status_code == 200
        assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("text", "fix"), [("", "holds no key"), ("secret\n", "line 1: must begin")]
)
def test_a_file_of_keys_must_hold_hashes(tmp_path, text, fix):
    (tmp_path / "keys").write_text(text)
    with pytest.raises(BadInput, match=fix):
        read_keys(tmp_path / "keys")


def test_a_fault_of_ours_is_answered_and_tells_no_text(monkeypatch, caplog):
    async def broken(*_):
        raise KeyError(WRONG["answer"])

    with calling() as client:
        monkeypatch.setattr("moonlynx.serve.service.Service.finish", broken)
        reply = client.post("/v1/judge", json=WRONG)
    assert reply.status_code == 500
    assert reply.json()["error"]["code"] == "internal"
    assert "KeyError in /v1/judge" in caplog.text
    assert WRONG["answer"] not in caplog.text + reply.text


def test_a_request_writes_no_line_of_its_own_into_the_log(caplog):
    async def broken(*_):
        raise KeyError

    class Broken(Gated):
        def __call__(self, examples):
            raise MoonlynxError("said\r\nERROR forged \x1b[2J")

    async def ask():
        transport = httpx.ASGITransport(Observe(broken, Counters()))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            await client.get("/a%0d%0aERROR%20forged%1b[2J%e2%80%ae")

    asyncio.run(ask())
    with calling(Broken()) as client:
        client.post("/v1/judge", json=EXAMPLE)
    assert r"KeyError in /a\x0d\x0aERROR forged\x1b[2JU+202E" in caplog.text
    assert r"failed: said\x0aERROR forged \x1b[2J" in caplog.text
    assert not {"\x1b", "\r", "\u202e"} & set(caplog.text)
    assert "\nERROR forged" not in caplog.text
