"""The whole gateway under random requests: no fault, no hang, nothing that grows.

Schemathesis sends what the OpenAPI promises to take and what it does not; requests made by hand
are odd below that, down to the bytes. A few here, thousands in `make test-slow`.
"""

import logging
import os
import re
import signal
import socket
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings

from ..running import run
from .loopback import WRONG, command, metric, until
from .odd_requests import BODIES, MOST, requests
from .test_guard import GOOD
from .test_proxy import chat_endpoint

pytestmark = [pytest.mark.heavy, pytest.mark.fuzz]

DEADLINE = 120  # seconds in which a request has its answer, on a machine with much else to do
MEGABYTE = 1 << 20


@contextmanager
def gateway(folder, *without):
    program = f"import sys; sys.modules.update(dict.fromkeys({without}))\n"
    program += "from moonlynx.cli import main; main()"
    with chat_endpoint(GOOD) as (upstream, _):
        options = ["--timeout", "20", "--max-body", str(MOST), "--metric", "luna2:tone"]
        options += ["--upstream", upstream, "--jobs", folder / "jobs"]
        options += ["--audit", f"sqlite:///{folder / 'audit.db'}"]
        with command(*options, program=("-c", program), log=folder / "log") as (server, address):
            yield server, address
            server.send_signal(signal.SIGTERM)
            assert server.wait(DEADLINE) == 0


def vitals(server):
    status = Path(f"/proc/{server.pid}/status").read_text()
    found = dict(line.split(":", 1) for line in status.splitlines())
    files = sum(1 for _ in Path(f"/proc/{server.pid}/fd").iterdir())
    return int(found["VmRSS"].split()[0]) << 10, int(found["Threads"]), files


@contextmanager
def steady(server, address):
    """Hold the server to what it was: after the block it holds no more than before."""
    with httpx.Client(base_url=address, timeout=DEADLINE) as client:

        def settle():
            until(lambda: metric(client, "moonlynx_queue_rows") == 0, DEADLINE)

            def at_rest():
                jobs = client.get("/v1/batches", params={"limit": 100}).json()["data"]
                return all(job["status"] in ("done", "failed") for job in jobs)

            until(at_rest, DEADLINE)

        # Threads are started, files opened and buffers made at the first use.
        for path, kind, body in BODIES:
            for _ in range(20):
                client.post(path, content=body, headers={"Content-Type": kind})
        settle()
        memory, threads, files = vitals(server)
        yield client
        settle()
        until(lambda: vitals(server)[2] <= files + 2, DEADLINE)  # connections that are just closed
        after = vitals(server)
        assert metric(client, "moonlynx_requests_total", status="500") is None
        logging.getLogger(__name__).info(
            "memory %s, threads %s, files %s became %s, %s, %s; %d requests",
            *(memory, threads, files, *after, asked(client)),
        )
        assert after[0] - memory < 64 * MEGABYTE
        assert after[1] <= threads + 8  # a pool's workers are made as they are needed


def asked(client):
    lines = client.get("/metrics").text.splitlines()
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith("moonlynx_requests_total{")
    )


def send(address, request, whole):
    url = httpx.URL(address)
    with socket.create_connection((url.host, url.port), timeout=DEADLINE) as connection:
        try:
            connection.sendall(request)
            if not whole:  # the server would wait for the rest
                connection.shutdown(socket.SHUT_WR)
            reply = b"".join(iter(lambda: connection.recv(MEGABYTE), b""))
        except ConnectionError:
            return None
    if not reply:
        return None
    assert re.match(rb"HTTP/1\.1 \d{3} ", reply), reply[:100]
    statuses = [int(status) for status in re.findall(rb"^HTTP/1\.1 (\d{3}) ", reply, re.MULTILINE)]
    return next(status for status in statuses if status != 100)


@pytest.mark.parametrize(
    "without", [("gradio", "httptools"), ("gradio",)], ids=["h11", "httptools"]
)
def test_odd_requests_have_their_answers(tmp_path, without):
    with gateway(tmp_path, *without) as (server, address), steady(server, address) as client:

        @given(requests())
        def answered(request):
            status = send(address, *request)
            assert status is None or status < 500 or status in (502, 503, 504), request

        answered()
        assert client.post("/v1/judge", json=WRONG).json()["score"] == "FAIL"


def test_the_gateway_keeps_what_its_openapi_says(tmp_path):
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("schemathesis is not installed")
    checks = "not_a_server_error,status_code_conformance,content_type_conformance"
    checks += ",response_schema_conformance,negative_data_rejection,use_after_free"
    examples = max(25, settings().max_examples // 20)  # of each operation
    with gateway(tmp_path, "gradio") as (server, address), steady(server, address) as client:
        command = [program, "run", f"{address}/openapi.json", "--checks", checks]
        command += ["--max-examples", str(examples), "--request-timeout", str(DEADLINE)]
        if settings().derandomize:
            command.append("--generation-deterministic")
        done = run(*command, cwd=tmp_path, env=os.environ | {"NO_COLOR": "1"})
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
        assert asked(client) > 10 * examples
