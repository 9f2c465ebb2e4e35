"""The gateway over a real vLLM: brought up, asked by real clients, killed, and cleared away.

The tests of this file follow each other: the last of them kill the vLLM of the first.
"""

import json
import os
import re
import signal
import threading

import httpx
import openai
import pytest

from moonlynx import Client, Example
from moonlynx.serve.client import ServerError
from moonlynx.serve.vllm.deployment import read_deployment
from moonlynx.serve.vllm.sizing import cache_bytes

from ...conftest import START_LIMIT
from ..loopback import EXAMPLE, metric, until
from .real import MODEL, moonlynx_serve, needs_vllm, session, until_ready, vllm_of, write_deployment
from .terse_llama import build_terse_llama

pytestmark = [pytest.mark.heavy, needs_vllm]

STRUCTURED = json.dumps({name: value for name, value in EXAMPLE.items() if name != "id"})


class Gateway:
    def __init__(self, server, address, deployment, log):
        self.server, self.address, self.log = server, address, log
        self.deployment = deployment
        self.http = httpx.Client(base_url=address, timeout=START_LIMIT)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vllm")
    path = write_deployment(folder, build_terse_llama(folder / "terse-llama"))
    log, timeout = folder / "serve.log", str(START_LIMIT)
    with moonlynx_serve(log, "--vllm", str(path), "--timeout", timeout) as (server, address):
        gateway = Gateway(server, address, read_deployment(str(path)), log)
        gateway.early = gateway.http.get("/readyz")
        # It waits in the queue until vLLM is there.
        waiting = threading.Thread(
            target=lambda: setattr(gateway, "first", gateway.http.post("/v1/judge", json=EXAMPLE))
        )
        waiting.start()
        until_ready(server, address, log)
        waiting.join()
        gateway.vllm = vllm_of(gateway.deployment.port)
        yield gateway


@pytest.fixture
def chat(gateway):
    with openai.OpenAI(base_url=f"{gateway.address}/v1", api_key="none", max_retries=0) as chat:
        yield chat


def test_before_vllm_is_ready_the_gateway_says_so_and_rows_wait(gateway):
    assert gateway.early.status_code == 503
    assert gateway.early.json()["error"] == {
        "code": "not_ready",
        "message": "vLLM is starting",
        "type": "server_error",
        "param": None,
    }
    assert gateway.first.status_code == 200
    assert gateway.first.json()["score"] in ("PASS", "FAIL")
    assert gateway.first.json()["raw_score"] is not None
    ready = gateway.http.get("/readyz").json()
    assert ready["judge"] == f"lynx:{MODEL}@{gateway.deployment.url}"


def test_vllm_holds_as_many_tokens_as_are_counted(gateway):
    """Of a cache of 1 GiB, which the environment sets."""
    shape = gateway.deployment.shape
    (said,) = re.findall(r"KV cache size: ([\d,]+) tokens", gateway.log.read_text())
    counted = 2**30 / cache_bytes(shape, "fp32")
    assert int(said.replace(",", "")) == pytest.approx(counted, rel=0.01)


def test_vllm_killed_while_it_judges_leaves_no_request_without_an_answer(gateway, chat):
    """A verdict without a score for each row, a 422 for a chat; the gateway lives on."""
    replies = []
    rows = [EXAMPLE | {"id": number, "question": f"Question {number}?"} for number in range(40)]
    before = metric(gateway.http, "moonlynx_verdicts_total", score="unscored") or 0
    asking = threading.Thread(
        target=lambda: replies.append(gateway.http.post("/v1/judge", json=rows))
    )
    asking.start()
    until(lambda: metric(gateway.http, "moonlynx_queue_rows") > 0)
    os.kill(gateway.vllm, signal.SIGKILL)
    asking.join()
    verdicts = replies[0].json()
    assert [verdict["id"] for verdict in verdicts] == list(range(40))
    gone = [verdict for verdict in verdicts if verdict["score"] is None]
    assert gone
    assert {verdict["error"]["code"] for verdict in gone} == {"backend"}
    assert metric(gateway.http, "moonlynx_verdicts_total", score="unscored") == before + len(gone)

    assert gateway.http.get("/healthz").status_code == 200
    ready = gateway.http.get("/readyz")
    assert (ready.status_code, ready.json()["error"]["code"]) == (503, "not_ready")
    assert ready.json()["error"]["message"] == "vLLM has ended (SIGKILL)"
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        chat.chat.completions.create(
            model=chat.models.list().data[0].id, messages=[{"role": "user", "content": STRUCTURED}]
        )
    assert refused.value.code == "backend"
    assert "cannot reach" in refused.value.message
    with Client(gateway.address) as client:
        assert client.judge(Example.from_row(EXAMPLE)).error.code == "backend"
        with pytest.raises(ServerError, match="context"):
            client._ask("POST", "/v1/judge", {"context": [""], "answer": "x"})


def test_the_gateway_ends_and_leaves_nothing_behind(gateway):
    gateway.http.close()
    gateway.server.send_signal(signal.SIGTERM)
    assert gateway.server.wait(60) == 0
    assert session(gateway.vllm) == [], "the engine that vLLM started is gone too"


def test_sigterm_while_vllm_starts_ends_both(tmp_path, tiny_llama):
    path = write_deployment(tmp_path, tiny_llama)
    port = read_deployment(str(path)).port
    with moonlynx_serve(tmp_path / "log", "--vllm", str(path)) as (server, _):
        until(lambda: vllm_of(port))
        vllm = vllm_of(port)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert session(vllm) == []


@pytest.mark.slow
def test_a_vllm_that_does_not_come_up_ends_the_gateway_with_its_last_words(tmp_path, tiny_llama):
    path = write_deployment(tmp_path, tiny_llama)
    path.write_text(path.read_text().replace("{enforce-eager: true}", "{no-such-flag: true}"))
    log = tmp_path / "log"
    with moonlynx_serve(log, "--vllm", str(path)) as (server, _):
        assert server.wait(START_LIMIT) == 2
    said = log.read_text()
    assert "error: vLLM has ended (exit code 2); its last lines:" in said
    assert "unrecognized arguments: --no-such-flag" in said.partition("error: vLLM has ended")[2]
    assert "Traceback" not in said
