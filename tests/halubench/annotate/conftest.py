import subprocess
import sys

import pytest
from starlette.testclient import TestClient

from moonlynx.halubench.annotate.app import create_app
from moonlynx.halubench.annotate.server import LOOPBACK
from moonlynx.halubench.annotate.store import Store
from moonlynx.halubench.records import Edited
from moonlynx.halubench.rows import write_rows

from ..a_row import make_row

ADDRESS = "http://127.0.0.1:8002"


def make_rows():
    """Return a plain row, a changed one with its reasoning, and one that attacks the page."""
    plain = make_row(id="a/1", source="a", label="PASS")
    answer = "The bridge was built in 1849. Anna Weiss drew the plans for the tower."
    changed = make_row(
        id="a/2",
        source="a",
        label="FAIL",
        answer=answer,
        gold=plain.answer,
        kind="number",
        change="The year was turned about.",
        edits=(Edited(start=24, end=28, old="1894"),),
        reasoning=("The document says 1894.", "So the year is wrong."),
    )
    attack = make_row(
        id="b/1",
        source="b",
        label="FAIL",
        question="<img src=x onerror=alert(1)>?",
        context=("</p><script>alert(2)</script>", '" autofocus onfocus="alert(3)'),
        answer="<script>alert(4)</script> is it.",
        change="<b>bold</b>",
        edits=(Edited(start=4, end=12, old="<u>was</u>", document=0),),
        reasoning=("<i>slanted</i>",),
    )
    return [plain, changed, attack]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_rows(path, make_rows())
    return path


@pytest.fixture
def store(file, tmp_path):
    return Store(tmp_path / "labels.sqlite", file)


@pytest.fixture
def client(store):
    """Yield a browser, so to speak, that sends forms from our own pages."""
    app = create_app(make_rows(), store, LOOPBACK)
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
