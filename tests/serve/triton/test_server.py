"""The repository in a real Triton: it takes the files, and its verdicts are `load_judge`'s.

The server comes from a package that has its Python backend alone. So the encoder, whose files are
otherwise as exported, is run by that with onnxruntime.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import venv
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from moonlynx import Example, load_judge

from ...waiting import until
from ..loopback import free_port

ROOT = Path(__file__).resolve().parents[3]
PEER = Path(os.environ.get("MOONLYNX_TRITON", ROOT / "build" / "triton"))
INSTALL = "pip install --no-deps --target build/triton nvidia-pytriton==0.7.0 numpy==1.26.4"
ENCODER = """
from pathlib import Path

import onnxruntime
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        path = Path(args["model_repository"], args["model_version"], "model.onnx")
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.names = [node.name for node in self.session.get_outputs()]

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        feed = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
        found = self.session.run(self.names, feed)
        tensors = [triton.Tensor(*pair) for pair in zip(self.names, found, strict=True)]
        return triton.InferenceResponse(tensors)
"""

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
STUB = PEER / "pytriton/tritonserver/python_backend_stubs" / VERSION / "triton_python_backend_stub"


def lacking():
    if not (PEER / "pytriton").is_dir():
        return f"no Triton here: {INSTALL}"
    if not STUB.is_file():
        return f"this Triton runs no Python {VERSION}"
    shared = Path(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"))
    if shared.suffix == ".a" or not shared.is_file():
        return "this Python has no shared library, which Triton loads"
    name, number = platform.libc_ver()
    if name != "glibc" or tuple(map(int, number.split("."))) < (2, 35):
        return f"this Triton needs glibc 2.35, and here is {name} {number}"
    return None


WHY = lacking()
pytestmark = [pytest.mark.heavy, pytest.mark.skipif(WHY is not None, reason=WHY or "")]


@contextmanager
def triton(models, folder):
    server = PEER / "pytriton" / "tritonserver"
    backend = folder / "backends" / "python"
    shutil.copytree(server / "backends" / "python", backend)
    shutil.copy(STUB, backend)
    port = free_port()
    command = [server / "bin" / "tritonserver", f"--model-repository={models}"]
    command += [f"--backend-directory={backend.parent}", "--http-address=127.0.0.1"]
    command += [f"--http-port={port}", "--allow-grpc=false", "--allow-metrics=false"]
    log = folder / "triton.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, "--exit-timeout-secs=5"],
            env=os.environ | environment(folder),
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            wait_until_ready(process, f"http://127.0.0.1:{port}/v2/health/ready", log)
            yield f"http://127.0.0.1:{port}/v2/models/luna"
        finally:
            process.terminate()
            process.wait(30)


def environment(folder):
    """Make the Python that Triton finds on its path: this one's packages, but an older numpy."""
    venv.create(folder / "python", symlinks=True)
    (site,) = (folder / "python" / "lib").glob("python*/site-packages")
    paths = [PEER, *(path for path in sys.path if Path(path).name == "site-packages"), ROOT / "src"]
    (site / "peer.pth").write_text("\n".join(map(str, paths)))
    libraries = [sysconfig.get_config_var("LIBDIR"), str(PEER / "nvidia_pytriton.libs")]
    return {
        "PATH": f"{folder / 'python' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
    }


def wait_until_ready(process, url, log):
    def ready():
        assert process.poll() is None, log.read_text(errors="replace")[-4000:]
        with suppress(httpx.TransportError):
            return httpx.get(url).is_success

    until(ready, 180)


@pytest.mark.parametrize("step", ["--no-batching", "--batching"])
def test_a_real_triton_gives_the_judges_verdicts(export, rows, tmp_path, step):
    folder, result = export(step)
    assert result.exit_code == 0, result.output
    encoder = folder / "models" / "luna_encoder"
    config = (encoder / "config.pbtxt").read_text()
    assert 'backend: "onnxruntime"' in config
    (encoder / "config.pbtxt").write_text(config.replace('"onnxruntime"', '"python"'))
    (encoder / "1" / "model.py").write_text(ENCODER)
    tensor = {"name": "EXAMPLE", "shape": [len(rows) + 1, 1], "datatype": "BYTES"}
    with triton(folder / "models", tmp_path) as judge:
        said = httpx.get(f"{judge}/config").json()
        assert said["instance_group"][0]["count"] == 2
        body = {"inputs": [tensor | {"data": [*rows, "{"]}]}
        reply = httpx.post(f"{judge}/infer", json=body, timeout=60).json()
    *found, unread = reply["outputs"][0]["data"]
    judged = load_judge("luna")([Example.from_row(json.loads(row)) for row in rows])
    assert found == [verdict.model_dump_json() for verdict in judged]
    assert json.loads(unread)["error"]["code"] == "bad_input"
