import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

from moonlynx import cli

from .tiny_llama import build_tiny_llama
from .waiting import until

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["TOKENIZERS_PARALLELISM"] = "false"  # texts are short here, and the cores busy
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
VLLM_HEADS = ("toxicity", "tone", "pii", "context_adherence")
START_LIMIT = 600  # seconds; on a busy machine vLLM's imports alone take minutes

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


@pytest.fixture(scope="session", autouse=True)
def shipped_networks():
    """Start onnxruntime once for each network that ships: a session keeps no state."""
    from moonlynx.judge.backends import onnx_encoder
    from moonlynx.judge.judges.luna.weights import EMBEDDED

    start, started = onnx_encoder.open_session, cache(onnx_encoder.open_session)
    shipped = {Path(folder) for folder in EMBEDDED.values()}

    def share(path, network, threads):
        return (started if path.parent in shipped else start)(path, network, threads)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_encoder, "open_session", share)
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep tests of one engine, or else of one file, in one worker: `--dist loadscope`.

    Those that need vLLM have it in their name. (`--dist loadgroup` of pytest-xdist 3.8 does not
    group under pytest 9.2.)
    """
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class EngineScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            engines = ("page", "ray", "triton")
            engine = next((one for one in engines if f"/serve/{one}/" in file), file)
            return "vllm" if "vllm" in nodeid else engine

    return EngineScheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def built_once():
    """Build the command line once in this process."""
    build = cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((typer.main, "get_command"), (typer.testing, "_get_command")):
            patch.setattr(module, name, build)
        yield


@pytest.fixture
def command_line(monkeypatch, capsys):
    """Run the command line as a user does; gives exit code, standard output and error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["moonlynx", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory):
    """Return the folder of a tiny Llama with random weights, the same in every session."""
    return build_tiny_llama(tmp_path_factory.mktemp("model") / "tiny-llama")


@pytest.fixture(scope="session")
def chat_weights():
    """Return the GGUF file of a real chat model that MOONLYNX_GGUF names."""
    weights = os.environ.get("MOONLYNX_GGUF", "")
    if not Path(weights).is_file():
        pytest.skip("set MOONLYNX_GGUF to a chat model, as qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
    return weights


@pytest.fixture(scope="session")
def heads(tiny_llama, tmp_path_factory):
    """Return folders of random heads on the tiny Llama, by metric."""
    from .judge.metrics.tiny_heads import build_head

    folder = tmp_path_factory.mktemp("heads")
    return {
        metric: build_head(folder / metric, tiny_llama, metric, seed)
        for seed, metric in enumerate((*VLLM_HEADS, "sexism"))
    }


@pytest.fixture(scope="session")
def vllm_server(tiny_llama, heads, tmp_path_factory):
    """Serve the tiny Llama, and heads on it, by vLLM's own server; return its API's base URL.

    It serves several models, so that each request names its own: the folder of the tiny Llama, or
    one of `VLLM_HEADS`.
    """
    if find_spec("vllm") is None:
        pytest.skip("needs vLLM: tests/requirements-optional.txt")
    structured = '{"backend": "xgrammar", "disable_any_whitespace": true}'
    options = ["--max-model-len", str(VLLM_MODEL_LENGTH), "--structured-outputs-config", structured]
    options += ["--enable-lora", "--max-lora-rank", "16", "--max-loras", str(len(VLLM_HEADS))]
    options += ["--lora-modules", *(f"{name}={heads[name]}" for name in VLLM_HEADS)]
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
    def settled():
        with suppress(httpx.TransportError):
            return httpx.get(url).is_success
        return server.poll() is not None

    until(settled, START_LIMIT)
    if server.poll() is not None:
        pytest.fail(f"the vLLM server has ended: {log.read_text(errors='replace')[-4000:]}")


def _end(server: subprocess.Popen):
    """End the server and the engine processes it started, which share its process group."""
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
