"""A GGUF file of 8 bits behind llama.cpp's own server, which xllamacpp brings."""

import subprocess
import sys

import httpx
import pytest

from moonlynx import Client, Example, load_judge
from moonlynx.serve.service import Settings

from ...tiny_gguf import write_gguf
from ..loopback import EXAMPLE, WRONG, serving, until
from .terse_llama import build_terse_llama

pytestmark = pytest.mark.heavy
PATIENCE = 120  # seconds, on a machine that has much else to do
SERVER = """
import signal, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.model_alias = sys.argv[1], {"tiny-lynx"}
params.hostnames, params.port, params.n_ctx, params.n_parallel = ["127.0.0.1"], 0, 4096, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.pause()
"""


@pytest.fixture(scope="module")
def llama_cpp(tmp_path_factory):
    for package in ("xllamacpp", "gguf"):
        pytest.importorskip(package, reason=f"needs {package}")
    folder = tmp_path_factory.mktemp("gguf")
    path = write_gguf(build_terse_llama(folder / "terse-llama"), folder / "tiny-q8_0.gguf")
    with (
        (folder / "server.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-c", SERVER, str(path)], stdout=subprocess.PIPE, stderr=log, text=True
        ) as server,
    ):
        try:
            url = server.stdout.readline().strip()
            assert url, (folder / "server.log").read_text()[-4000:]
            until(lambda: httpx.get(f"{url}/health").is_success, seconds=PATIENCE)
            yield f"{url}/v1"
        finally:
            server.kill()


def test_lynx_judges_by_a_gguf_file_through_the_gateway(llama_cpp):
    judge = load_judge(f"lynx:tiny-lynx@{llama_cpp}?timeout={PATIENCE}&retries=0")
    with (
        serving(judge, Settings(timeout=PATIENCE)) as address,
        Client(address, timeout=PATIENCE) as gateway,
    ):
        for row in (EXAMPLE, WRONG):
            verdict = gateway.judge(Example.from_row(row))
            assert verdict.error is None
            assert verdict.score in ("PASS", "FAIL")
            assert verdict.reasoning
            assert verdict.usage.output_tokens > 0
            assert verdict == gateway.judge(Example.from_row(row))
