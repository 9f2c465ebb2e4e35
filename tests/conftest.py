import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, settings

from .tiny_llama import build_tiny_llama

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["HF_HUB_OFFLINE"] = "1"  # read by the Hub's client when it is imported

# vLLM on a CPU would take half the memory for its cache, and compile for half a minute at the first
# request for logprobs; anywhere it would ask for this host's name.
VLLM_ENVIRONMENT = {
    "TORCH_COMPILE_DISABLE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_LOGGING_LEVEL": "INFO",  # whatever a test before has set
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    "VLLM_NO_USAGE_STATS": "1",
}
VLLM_MODEL_LENGTH = 2048
_START_LIMIT = 300  # seconds

# Property tests carry `@pytest.mark.fuzz`. Every run tries the same few examples; `make test-slow`
# tries 4,000 new ones of each, over 100,000 in all: `pytest -m fuzz --hypothesis-profile=fuzz`.
settings.register_profile("default", max_examples=50, deadline=None, derandomize=True)
settings.register_profile(
    "fuzz",
    max_examples=4_000,
    deadline=None,
    derandomize=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory):
    """Give the folder of a tiny Llama with random weights, the same in every session."""
    return build_tiny_llama(tmp_path_factory.mktemp("model") / "tiny-llama")


@pytest.fixture(scope="session")
def vllm_server(tiny_llama, tmp_path_factory):
    """Serve the tiny Llama by vLLM's own server; give the base URL of its API."""
    structured = '{"backend": "xgrammar", "disable_any_whitespace": true}'
    options = ["--max-model-len", str(VLLM_MODEL_LENGTH), "--structured-outputs-config", structured]
    with serving(tiny_llama, tmp_path_factory.mktemp("vllm") / "server.log", *options) as url:
        yield url


@contextmanager
def serving(model, log: Path, *options: str):
    """Serve a model by vLLM's own server for as long as the context lasts; give its URL."""
    port = _free_port()
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(model), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--dtype", "float32", "--load-format", "safetensors", "--enforce-eager", *options]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            env=os.environ | VLLM_ENVIRONMENT,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_healthy(server, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        _end(server)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_healthy(server: subprocess.Popen, url: str, log: Path):
    deadline = time.monotonic() + _START_LIMIT
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(url).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    pytest.fail(f"the vLLM server is not up: {log.read_text(errors='replace')[-4000:]}")


def _end(server: subprocess.Popen):
    """End the server and the engine processes it started, which share its process group."""
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
