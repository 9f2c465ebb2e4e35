"""The command in a process of its own, while clients and backends fail around it.

Each request has its documented answer, none is lost, and requests beside it do not notice.
"""

import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from moonlynx.serve.audit.database import Database

from .loopback import EXAMPLE, WRONG, metric, until
from .test_server import command

pytestmark = pytest.mark.heavy

JSON = {"Content-Type": "application/json"}
HEAD = "POST /v1/judge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LARGE = json.dumps(EXAMPLE | {"answer": "long " * 2_000_000}).encode()  # 10 MB


def raw(row, length=None):
    body = json.dumps(row).encode()
    return f"{HEAD}Content-Length: {length or len(body)}\r\n\r\n".encode() + body


def connect(address):
    split = httpx.URL(address)
    return socket.create_connection((split.host, split.port), timeout=60)


def read(connection):
    with connection:
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@contextmanager
def others(address):
    """Let two clients judge all the while; give their answers, filled when the block is left."""
    answers, stop = [], threading.Event()

    def judge():
        with httpx.Client(base_url=address, timeout=60) as client:
            while not stop.is_set():
                reply = client.post("/v1/judge", json=[EXAMPLE, WRONG])
                answers.append((reply.status_code, reply.content))

    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(judge) for _ in range(2)]
        try:
            yield answers
        finally:
            stop.set()
    for each in working:
        each.result()


def send_large(address):
    """Send 10 MB, announced or in parts."""
    parts = (LARGE[start : start + 100_000] for start in range(0, len(LARGE), 100_000))
    for content in (LARGE, parts):
        reply = httpx.post(f"{address}/v1/judge", content=content, headers=JSON, timeout=60)
        yield reply.status_code, reply.json()["error"]["code"]


def send_malformed(address):
    """Send what is no JSON, or none that says anything, as it comes out of a random cut."""
    rng = random.Random(0)
    whole = json.dumps(EXAMPLE).encode()
    with httpx.Client(base_url=address, timeout=60) as client:
        for _ in range(40):
            cut = whole[: rng.randrange(1, len(whole))] + rng.choice([b"", b"\xff", b"]", b"\0"])
            reply = client.post("/v1/judge", content=cut, headers=JSON)
            yield reply.status_code, reply.json()["error"]["code"]


def go_away(address):
    """Go away in the middle of a request, and with a request under way."""
    for number in range(40):
        connection = connect(address)
        connection.sendall(raw(WRONG, None if number % 2 else 10_000))
        connection.close()
    return ()


def dawdle(address):
    """Announce more than is sent, and wait."""
    connection = connect(address)
    connection.sendall(raw(WRONG, 10_000))
    reply = read(connection)
    yield int(reply.split()[1]), json.loads(reply.partition(b"\r\n\r\n")[2])["error"]["code"]


def test_faulty_clients_get_their_answers_and_harm_nobody(tmp_path):
    url = f"sqlite:///{tmp_path / 'audit.db'}"
    options = ("--judge", "token-similarity", "--timeout", "5", "--audit", url, "--audit-texts")
    with command(*options) as (server, address):
        faults = (send_large, send_malformed, go_away, dawdle)

        def count(fault):
            return Counter(fault(address))

        with others(address) as answers, ThreadPoolExecutor(len(faults)) as pool:
            found = dict(zip(faults, pool.map(count, faults), strict=True))
        assert found[send_large] == {(413, "too_large"): 2}
        assert found[send_malformed] == {(422, "bad_input"): 40}
        assert found[dawdle] == {(408, "timeout"): 1}
        assert len(answers) > 20
        assert {status for status, _ in answers} == {200}
        assert len({content for _, content in answers}) == 1
        with httpx.Client(base_url=address) as client:
            until(lambda: metric(client, "moonlynx_queue_rows") == 0)
            scores = [metric(client, "moonlynx_verdicts_total", score=s) for s in ("PASS", "FAIL")]
            assert metric(client, "moonlynx_audit_dropped_total", reason="full") is None
        assert scores[0] == len(answers)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert server.stderr.read() == ""
    # Every verdict that was given is kept: those of clients that went away too late among them.
    database = Database(url, make=False)
    assert sum(day.verdicts for day in database.days()) == sum(scores)
    database.close()


def test_a_thousand_connections_get_a_verdict_or_are_told_to_come_back():
    """More than the queue holds: whoever finds no room hears so, and nobody hears nothing."""
    with command("--judge", "token-similarity", "--queue", "50") as (server, address):
        connections = [connect(address) for _ in range(1_000)]
        request = raw([EXAMPLE] * 10).replace(b"Host:", b"Connection: close\r\nHost:")
        for connection in connections:
            connection.sendall(request)
        replies = [read(connection) for connection in connections]
        assert httpx.get(f"{address}/readyz").status_code == 200
        assert httpx.post(f"{address}/v1/judge", json=EXAMPLE).json()["score"] == "PASS"
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert server.stderr.read() == ""
    statuses = Counter(int(reply.split()[1]) for reply in replies)
    assert statuses[200] > 0
    assert statuses[429] > 0
    assert statuses.total() == statuses[200] + statuses[429] == 1_000
    for reply in replies:
        head, _, body = reply.partition(b"\r\n\r\n")
        if b" 429 " in head:
            assert b"retry-after: " in head.lower()
            assert json.loads(body)["error"]["code"] == "busy"
        else:
            assert [verdict["score"] for verdict in json.loads(body)] == ["PASS"] * 10


@contextmanager
def endpoint(port=0):
    """Run the chat endpoint; give its process and its port."""
    line = [sys.executable, str(Path(__file__).with_name("chat_endpoint.py")), str(port)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def asked(answer, wait=0.0, **more):
    return EXAMPLE | {"question": f"wait {wait}s", "answer": answer} | more


def judge(address, row):
    started = time.monotonic()
    reply = httpx.post(f"{address}/v1/judge", json=row, timeout=60)
    return reply, time.monotonic() - started


def test_a_slow_backend_holds_up_nobody_else():
    with (
        endpoint() as (backend, port),
        command("--judge", f"lynx:m@http://127.0.0.1:{port}/v1", "--timeout", "4") as (_, address),
        ThreadPoolExecutor(12) as pool,
    ):
        slow = [pool.submit(judge, address, asked("right", wait=20)) for _ in range(4)]
        assert [backend.stdout.readline() for _ in slow] == ["asked\n"] * 4
        fast = [pool.submit(judge, address, asked(f"{word}.")) for word in ["right", "wrong"] * 4]
        scores = Counter(each.result()[0].json()["score"] for each in fast)
        assert not any(each.done() for each in slow)
        assert scores == {"PASS": 4, "FAIL": 4}
        for each in slow:
            reply, seconds = each.result()
            assert reply.status_code == 504
            assert reply.json()["error"]["code"] == "timeout"
            assert 3.5 < seconds < 20


def test_a_backend_killed_with_requests_under_way():
    """Each is answered with an error of the closed list, and all is well once it is back."""
    with endpoint() as (backend, port):
        judge_name = f"lynx:m@http://127.0.0.1:{port}/v1?retries=0"
        with command("--judge", judge_name) as (server, address):
            assert judge(address, asked("right"))[0].json()["score"] == "PASS"
            with ThreadPoolExecutor(10) as pool:
                under_way = [pool.submit(judge, address, asked("right", wait=25)) for _ in range(8)]
                assert [backend.stdout.readline() for _ in range(9)] == ["asked\n"] * 9
                backend.kill()
                backend.wait()
                lost = [each.result() for each in under_way]
            for reply, seconds in lost:
                assert reply.status_code == 200
                verdict = reply.json()
                assert verdict["score"] is None
                assert verdict["error"]["code"] == "backend"
                assert seconds < 25
            chat = {"question": "", "context": "It is open.", "answer": "It is open."}
            message = {"role": "user", "content": json.dumps(chat)}
            body = {"model": httpx.get(f"{address}/v1/models").json()["data"][0]["id"]}
            reply = httpx.post(
                f"{address}/v1/chat/completions", json=body | {"messages": [message]}, timeout=60
            )
            assert (reply.status_code, reply.json()["error"]["code"]) == (422, "backend")
            assert httpx.get(f"{address}/readyz").status_code == 200
            with endpoint(port):
                assert judge(address, asked("right"))[0].json()["score"] == "PASS"
            server.send_signal(signal.SIGTERM)
            assert server.wait(60) == 0
            assert server.stderr.read() == ""
