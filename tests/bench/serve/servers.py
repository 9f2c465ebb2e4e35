"""Servers to measure, each a process of its own: ours, and LettuceDetect's."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from tokenizers import Tokenizer

import moonlynx
from moonlynx.judge.contract.types import Example

from ..networks import write_ettin
from ..record import BenchError
from ..rounds import own_process

_UP_WITHIN = 120.0  # seconds
_END_WITHIN = 30.0
_ADDRESS = re.compile(r" at (http://\S+)/v1/judge")


@dataclass(frozen=True)
class Running:
    """A server that takes requests.

    Attributes:
        path: of the route that judges.
        body: makes the JSON of a request.
        pid: of its process.
        started: when the process was, by `time.perf_counter`.
    """

    name: str
    address: str
    path: str
    body: Callable[[Example], bytes]
    pid: int
    started: float

    def resident_mb(self) -> float:
        """Return the memory that the process holds now (Linux only)."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(r"^VmRSS:\s*(\d+) kB$", status, flags=re.MULTILINE)
        assert found
        return int(found[1]) / 1024


@contextmanager
def moonlynx_server(name: str, options: Sequence[str]) -> Iterator[Running]:
    """Run `moonlynx serve` with these options on any free port.

    Raises:
        BenchError: it does not come up; its own message is on standard error.
    """
    command = [sys.executable, "-u", "-m", "moonlynx", "serve", "--port", "0", *options]
    started = time.perf_counter()
    with _process(command, {}, stdout=subprocess.PIPE) as server:
        assert server.stdout
        found = _ADDRESS.search(server.stdout.readline())
        if not found:
            raise BenchError(f"{name}: `moonlynx serve {' '.join(options)}` does not come up")
        yield Running(name, found[1], "/v1/judge", _our_body, server.pid, started)


@contextmanager
def lettucedetect_server(
    name: str, package: Path, tokenizer: Tokenizer, scratch: Path
) -> Iterator[Running]:
    """Run the server of LettuceDetect's package, with a model of TinyLettuce's least size.

    Args:
        name: what the tables call it.
        package: folder that holds the package.
        tokenizer: the model's.
        scratch: folder to make for the model: Ettin's 17M architecture with random weights.

    Raises:
        BenchError: it does not come up.
    """
    with own_process() as apart:  # torch stays out of the clients' process
        apart.submit(write_ettin, scratch, tokenizer.to_str()).result()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "lettucedetect_api.server:app"]
    command += ["--port", str(port), "--log-level", "warning"]
    environment = {"PYTHONPATH": str(package.resolve()), "LETTUCEDETECT_MODEL": str(scratch)}
    started = time.perf_counter()
    address = f"http://127.0.0.1:{port}"
    with _process(command, environment) as server:
        while not _answers(f"{address}/openapi.json"):
            if server.poll() is not None or time.perf_counter() > started + _UP_WITHIN:
                raise BenchError(f"{name}: the server does not come up")
            time.sleep(0.1)
        yield Running(name, address, "/v1/lettucedetect/spans", _their_body, server.pid, started)


@contextmanager
def _process(
    command: Sequence[str], environment: dict[str, str], stdout: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    # Every server gets all cores, whatever this process was told.
    inherited = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    environment = inherited | environment
    with subprocess.Popen(command, stdout=stdout, text=True, env=environment) as server:
        try:
            yield server
        finally:
            server.terminate()
            try:
                server.wait(_END_WITHIN)
            except subprocess.TimeoutExpired:
                server.kill()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).is_success
    except httpx.TransportError:
        return False


def _our_body(example: Example) -> bytes:
    return example.model_dump_json(exclude_defaults=True).encode()


def _their_body(example: Example) -> bytes:
    renamed = {"contexts": example.context, "question": example.question, "answer": example.answer}
    return httpx.Request("POST", "http://-", json=renamed).read()


def installed() -> set[Path]:
    """Return the folders that a server is started from: Python's, the packages' and ours."""
    folders = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")}
    return folders | {path.resolve() for path in Path(moonlynx.__file__).parent.iterdir()}


def forget_files(folders: Iterable[Path]) -> int:
    """Drop the files in folders from the system's page cache; return how many.

    What another process has mapped stays in memory, so a cold start on a busy machine is not quite
    as cold as one after a boot.
    """
    count = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                try:
                    file = os.open(Path(place) / name, os.O_RDONLY)
                except OSError:
                    continue
                try:
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(file)
                count += 1
    return count
