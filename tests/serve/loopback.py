"""The server on the loopback, in a thread or as the command: real uvicorn, real HTTP."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress

import httpx
import uvicorn

from moonlynx.judge.contract.steps import Progress, finish
from moonlynx.judge.registry import load_judge
from moonlynx.serve.app import create_app
from moonlynx.serve.queue.batching import Batcher, Batching
from moonlynx.serve.service import Settings

from ..waiting import until

EXAMPLE = {
    "id": "bridge",
    "question": "When was the bridge built?",
    "context": ["The bridge was built in 1849 by Anna Weiss."],
    "answer": "The bridge was built in 1849.",
}
WRONG = EXAMPLE | {"id": "wrong", "answer": "Peter Smith tore down two towers near Glasgow."}
HEAD = "POST /v1/judge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def connect(address):
    url = httpx.URL(address)
    return socket.create_connection((url.host, url.port), timeout=300)


def raw(body):
    content = json.dumps(body).encode()
    return f"{HEAD}Content-Length: {len(content)}\r\n\r\n".encode() + content


def read(connection):
    with connection:
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@contextmanager
def command(*options, program=("-m", "moonlynx"), env=None, log=None):
    """Run `moonlynx serve` on any free port; yield the process and its address."""
    line = [sys.executable, "-u", *program, "serve", "--port", "0", *options]
    pipes = {"stdout": subprocess.PIPE, "text": True, "env": os.environ | (env or {})}
    with (
        log.open("w") if log else nullcontext(subprocess.PIPE) as errors,
        subprocess.Popen(line, stderr=errors, **pipes) as server,
    ):
        try:
            said = server.stdout.readline()
            assert " at http" in said, log.read_text() if log else server.stderr.read()
            yield server, said.split(" at ")[-1].partition("/v1")[0]
        finally:
            server.kill()


@asynccontextmanager
async def queueing(judge, on_batch=lambda *_: None, **batching):
    """Run a judge's queue without a server."""
    batcher = Batcher(judge, Batching(**batching), on_batch)
    task = asyncio.create_task(batcher.run())
    yield batcher
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@contextmanager
def running(app, log_level="warning"):
    with socket.create_server(("127.0.0.1", 0), backlog=2_048) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level=log_level, access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive())
            assert server.started
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def serving(judge=None, settings=None, tracing=None, metrics=()):
    judge = judge or load_judge("token-similarity")
    measures = {one.info.name: one for one in metrics}
    with running(create_app(judge, settings or Settings(), tracing, metrics=measures)) as address:
        yield address


@contextmanager
def calling(judge=None, settings=None, tracing=None, metrics=()):
    with (
        serving(judge, settings, tracing, metrics) as address,
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        yield client


class Gated:
    """A real judge that judges only once the gate is open, and keeps what it was given."""

    def __init__(self):
        self._judge = load_judge("token-similarity")
        self.info = self._judge.info
        self.gate = threading.Event()
        self.batches = []

    def __call__(self, examples):
        self.batches.append([example.id for example in examples])
        assert self.gate.wait(30)
        return self._judge(examples)


def metric(client, name, **labels):
    wanted = {f'{key}="{value}"' for key, value in labels.items()}
    for line in client.get("/metrics").text.splitlines():
        head, _, value = line.rpartition(" ")
        bare, _, rest = head.rstrip("}").partition("{")
        if bare == name and wanted <= set(rest.split(",")):
            return float(value)
    return None


class Pieces:
    """A real judge that takes a piece of work for each character of an answer, and keeps count.

    Attributes:
        pieces: the ids of the rows that were worked at, in order.
        gate: no piece but the first is begun before it is open.
        far: how far a row came by a piece, as it tells, beside how far it did.
    """

    def __init__(self, far=1.0):
        self.far = far
        self._judge = load_judge("token-similarity")
        self.info = self._judge.info
        self.gate = threading.Event()
        self.pieces = []
        self.done = []

    def steps(self, examples):
        characters = [example for example in examples for _ in example.answer]
        for number, example in enumerate(characters, start=1):
            assert not self.pieces or self.gate.wait(30)
            self.pieces.append(example.id)
            rows = len(examples) * number / len(characters)
            yield Progress(self.far * rows, number, len(characters))
        self.done += [example.id for example in examples]
        return self._judge(examples)

    def __call__(self, examples):
        return finish(self.steps(examples))
