import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from moonlynx import Example, MoonlynxError
from moonlynx.judge.contract.spec import parse_spec
from moonlynx.serve.client import Client, ServerError
from moonlynx.serve.server import ServeError, serve, waits_on_network
from moonlynx.serve.service import Settings

from ..cases import cases
from .loopback import EXAMPLE, WRONG, command, connect, metric, raw, read, until


def accepted(client):
    names = ("queue_rows", "rows_under_way", "batch_rows_sum")
    return sum(metric(client, f"moonlynx_{name}") for name in names)


@pytest.mark.heavy
def test_sigterm_under_load_loses_no_accepted_request():
    options = ("--judge", "luna:mini", "--batch-characters", "1")
    options += ("--queue", "2000", "--timeout", "300")
    with command(*options) as (server, address):
        connections = [connect(address) for _ in range(300)]
        with httpx.Client(base_url=address) as client:
            for connection in connections:
                connection.sendall(raw([EXAMPLE, WRONG] * 2))
            until(lambda: accepted(client) >= 4 * 300, seconds=60)
            assert metric(client, "moonlynx_queue_rows") > 400
        server.send_signal(signal.SIGTERM)
        replies = [read(connection) for connection in connections]
        assert server.wait(30) == 0
        assert server.stderr.read() == ""
    assert sum(reply.startswith(b"HTTP/1.1 200") for reply in replies) == 300
    assert {reply.count(b'"score":"PASS"') for reply in replies} == {2}
    with Client(address) as own, pytest.raises(ServerError, match="is `moonlynx serve` running"):
        own.judge_all([])


@pytest.mark.heavy
def test_a_thousand_connections_get_a_verdict_or_are_told_to_come_back():
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


@pytest.mark.heavy
def test_a_judge_that_never_comes_back_does_not_hold_up_the_end():
    """Its row has its 504; what is left is a thread, for which Python would wait."""
    program = (
        "import time\n"
        "from moonlynx.serve import server\n"
        "class Stuck:\n"
        "    info = server.load_judge('token-similarity').info\n"
        "    def __call__(self, examples):\n"
        "        time.sleep(600)\n"
        "server.load_judge, server._LATE = lambda name: Stuck(), 1.0\n"
        "settings = server.Settings(timeout=0.5)\n"
        "tell = lambda address: print(address, flush=True)\n"
        "server.serve(server.parse_spec('token-similarity'), '127.0.0.1', 0, settings, tell)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as running:
        try:
            address = running.stdout.readline().decode().strip()
            assert httpx.post(f"{address}/v1/judge", json=EXAMPLE).status_code == 504
            running.send_signal(signal.SIGTERM)
            assert running.wait(60) == 1
        finally:
            running.kill()


@pytest.mark.heavy
def test_sigterm_ends_it_though_an_answer_of_a_megabyte_is_being_judged():
    limits = ("--max-answer", "2000000", "--max-claims", "100000", "--max-tokens", "1000000")
    answer = "The bridge was built by Anna Weiss in 1849, and 12 ships lay in the port. " * 14_000
    with (
        command("--judge", "luna", "--timeout", "8", *limits) as (server, address),
        ThreadPoolExecutor(1) as pool,
    ):
        body = EXAMPLE | {"answer": answer}
        asked = pool.submit(httpx.post, f"{address}/v1/judge", json=body, timeout=300)
        with httpx.Client(base_url=address, timeout=60) as client:
            until(lambda: metric(client, "moonlynx_rows_under_way") == 1)
        server.send_signal(signal.SIGTERM)
        assert asked.result().status_code == 504
        assert server.wait(100) == 0
        assert server.stderr.read() == ""


@pytest.mark.heavy
def test_the_embedded_encoder_judges_within_seconds_and_ctrl_c_ends_it():
    started = os.times()
    began = time.monotonic()
    with command("--judge", "luna") as (server, address), Client(address) as own:
        assert own.judge(Example.from_row(WRONG)).score == "FAIL"
        seconds = time.monotonic() - began
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
        assert server.stderr.read() == ""
        used = os.times().children_user - started.children_user
    # Of the processor's time, which others on this machine cannot lengthen.
    assert used < 6, f"{used:.1f} s of a processor, {seconds:.1f} s in all"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--judge", "nobody"], "no judge is called 'nobody'"),
        (["--host", "a..b"], "there is no such name"),
    ],
)
def test_what_cannot_be_served_is_a_message(options, message):
    arguments = {"--judge": "token-similarity", "--host": "127.0.0.1"}
    arguments.update([options])
    with pytest.raises(MoonlynxError, match=message):
        serve(parse_spec(arguments["--judge"]), arguments["--host"], 0, Settings(), lambda _: None)


def test_a_taken_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServeError, match=f"port {port}: Address already in use"):
            serve(parse_spec("token-similarity"), "127.0.0.1", port, Settings(), lambda _: None)


@pytest.mark.parametrize(("spec", "waits"), cases(__file__, "networks"))
def test_only_judges_behind_a_network_are_asked_side_by_side(spec, waits):
    assert waits_on_network(parse_spec(spec)) is waits
