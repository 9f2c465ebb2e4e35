"""`moonlynx serve` over a real vLLM on the CPU: processes of their own, real HTTP between them."""

import os
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from ...conftest import START_LIMIT, VLLM_ENVIRONMENT
from ...waiting import until
from ..loopback import command, free_port

MODEL = "tiny-lynx"
needs_vllm = pytest.mark.skipif(
    find_spec("vllm") is None, reason="needs vLLM: tests/requirements-optional.txt"
)


def write_deployment(folder, model, more=""):
    path = folder / "tiny.yaml"
    path.write_text(
        f"model: {model}\nserved_name: {MODEL}\nprecision: fp32\ngpus: 0\nmax_model_len: 4096\n"
        f"requests: 16\nbatched_tokens: 4096\nport: {free_port()}\n"
        f"engine: {{enforce-eager: true}}\n{more}",
        encoding="utf-8",
    )
    return path


@contextmanager
def moonlynx_serve(log, *options):
    with command(*options, env=VLLM_ENVIRONMENT, log=log) as (server, address):
        try:
            yield server, address
        finally:
            server.terminate()
            server.wait(120)


def until_ready(server, address, log):
    def ready():
        assert server.poll() is None, log.read_text()[-4000:]
        return httpx.get(f"{address}/readyz").status_code == 200

    until(ready, START_LIMIT)


def vllm_of(port):
    """Return the id of the vLLM server of that port, which is its session's too; None: no such."""
    return next((one for one in map(int, _ids()) if f"--port\0{port}\0" in _line(one)), None)


def session(leader):
    return [one for one in map(int, _ids()) if _session(one) == leader and _line(one)]


def _ids():
    return [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]


def _line(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def _session(process):
    try:
        return os.getsid(process)
    except OSError:
        return None
