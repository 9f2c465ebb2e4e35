import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from moonlynx.halubench.annotate.app import create_app
from moonlynx.halubench.annotate.server import LOOPBACK
from moonlynx.halubench.annotate.store import Store
from moonlynx.halubench.rows import read_rows

ADDRESS = "http://127.0.0.1:8002"
# A plain row, a changed one with its reasoning, and one that attacks the page.
ROWS = Path(__file__).with_name("rows.jsonl")


@pytest.fixture
def file(tmp_path):
    return Path(shutil.copy(ROWS, tmp_path))


@pytest.fixture
def store(file, tmp_path):
    return Store(tmp_path / "labels.sqlite", file)


@pytest.fixture
def client(store):
    app = create_app(read_rows(ROWS), store, LOOPBACK)
    with TestClient(app, base_url=ADDRESS, headers={"Origin": ADDRESS}) as client:
        yield client


@pytest.fixture
def database(tmp_path):
    return tmp_path / "labels.sqlite"


@pytest.fixture
def server(file, database):
    command = [sys.executable, "-u", "-m", "moonlynx", "halubench", "annotate", str(file)]
    command += ["--database", str(database), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield server
        server.kill()


@pytest.fixture
def address(server):
    return server.stdout.readline().split()[3]
