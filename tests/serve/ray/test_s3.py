"""Input and output on S3: the command on a cluster, beside a local server that speaks S3."""

import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from ...waiting import until
from ..loopback import free_port
from .nodes import cluster, ended, judging
from .rows import on_one_machine, write_rows

s3fs = pytest.importorskip("s3fs", reason="needs an environment of its own: make test-frameworks")
pytest.importorskip("moto", reason="needs an environment of its own: make test-frameworks")

UNSCORED = 3

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket, pytest.mark.filterwarnings("ignore")]


@contextmanager
def moto(port):
    command = [sys.executable, "-m", "moto.server", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            yield server
        finally:
            server.terminate()


def answers(address):
    try:
        return httpx.get(address).is_success
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def s3():
    port = free_port()
    environment = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    with pytest.MonkeyPatch.context() as patch, moto(port) as server:
        for name, value in environment.items():
            patch.setenv(name, value)
        until(lambda: server.poll() is None and answers(environment["AWS_ENDPOINT_URL"]), 120)
        system = s3fs.S3FileSystem()
        system.mkdir("rows")
        with cluster(workers=1) as (running, _):
            yield system, running.address


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_rows_on_s3_get_the_bytes_of_one_machine(tmp_path, s3, kind):
    system, address = s3
    source = write_rows(tmp_path / f"rows.{kind}", 60)
    system.put(str(source), f"rows/{source.name}")
    output = f"rows/out/{kind}.jsonl"
    alone = on_one_machine(source, tmp_path / "alone.jsonl")
    for _ in range(2):  # the second run finds all done
        options = ("--engine", "ray?partition-rows=16", "--judge", "token-similarity")
        urls = f"s3://rows/{source.name}", f"s3://{output}"
        assert "60 rows" in ended(judging(*urls, *options, address=address), UNSCORED)
        assert system.cat(output) == alone
        assert len(system.glob(f"{output}.parts/part-*")) == 4
