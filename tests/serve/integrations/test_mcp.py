import asyncio
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from moonlynx import Example, Verdict, load_judge
from moonlynx.serve.integrations.mcp import make_server

from ...waiting import until
from ..loopback import free_port
from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG

COMMAND = ["-m", "moonlynx", "mcp", "--judge", JUDGE]


@pytest.fixture
def mcp():
    return pytest.importorskip("mcp", reason="needs moonlynx[mcp]")


async def ask(client):
    listed = (await client.list_tools()).tools
    rows = [
        {"question": QUESTION, "context": CONTEXT, "answer": RIGHT},
        {"context": CONTEXT, "answer": WRONG},
        {"context": CONTEXT, "answer": " "},
    ]
    return listed, [await client.call_tool("judge", row) for row in rows]


def check(listed, results):
    (tool,) = listed
    assert tool.name == "judge"
    assert tool.input_schema["required"] == ["answer", "context"]
    assert "spans" in tool.output_schema["properties"]
    right, wrong, empty = results
    assert Verdict.model_validate(right.structured_content).score == "PASS"
    (expected,) = load_judge(JUDGE)([Example(context=tuple(CONTEXT), answer=WRONG)])
    assert Verdict.model_validate(wrong.structured_content) == expected
    assert empty.is_error
    assert "answer: holds no text to judge" in empty.content[0].text


def test_in_this_process(mcp):
    async def run():
        async with mcp.Client(make_server(JUDGE)) as client:
            return await ask(client)

    check(*asyncio.run(run()))


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def serving_http():
    port = free_port()
    command = [sys.executable, *COMMAND, "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            until(lambda: server.poll() is not None or listens(port))
            assert server.poll() is None, server.stderr.read()
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.terminate()


@pytest.mark.heavy
def test_over_http(mcp):
    async def run(url):
        async with mcp.Client(url) as client:
            return await ask(client)

    with serving_http() as url:
        check(*asyncio.run(run(url)))
        # No page of another site gets through to the tool, under whatever name.
        for refused, header in ((421, "Host"), (403, "Origin")):
            assert httpx.post(url, json={}, headers={header: "site.example"}).status_code == refused
