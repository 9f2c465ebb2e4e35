import logging
import signal
import sys
import time
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec

import httpx
import pytest
from starlette.testclient import TestClient

from moonlynx import load_judge
from moonlynx.serve.app import create_app
from moonlynx.serve.page import front
from moonlynx.serve.service import Settings

from ..loopback import EXAMPLE, until
from .browsing import PATIENCE, serving_page

NAME = "token-similarity"


def started(compare):
    return TestClient(create_app(load_judge(NAME), compare=compare), base_url="http://localhost")


@pytest.fixture
def calling():
    with ExitStack() as clients:
        yield lambda compare=None: clients.enter_context(started(compare or {}))


def judges(client):
    return client.post("/v1/judge", json=EXAMPLE).json()["score"] == "PASS"


def test_without_gradio_a_hint_stands_there_that_asks_nobody_else(calling, monkeypatch):
    monkeypatch.setattr(front, "find_spec", lambda name: None)
    client = calling()
    assert judges(client)
    answer = client.get("/")
    assert answer.status_code == 200
    assert "pip install 'moonlynx[page]'" in answer.text
    assert client.head("/").status_code == 200
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not any("http" in rule or "*" in rule for rule in policy)
    assert answer.headers["referrer-policy"] == "same-origin"


def test_the_api_answers_before_gradio_is_there_and_without_a_page(calling, monkeypatch):
    monkeypatch.setattr(front, "find_spec", lambda name: "somewhere")
    client = calling()
    answer = client.get("/")
    assert answer.status_code == 503
    assert "is loading" in answer.text
    assert 'http-equiv="refresh"' in answer.text
    assert judges(client)
    with started(None) as client:
        assert client.get("/").status_code == 404


def test_a_page_that_cannot_be_loaded_leaves_the_api(calling, monkeypatch, caplog):
    monkeypatch.setattr(front, "find_spec", lambda name: "somewhere")
    monkeypatch.setattr(front, "_GRACE", 0)
    with caplog.at_level(logging.ERROR):
        client = calling({"no-such-judge": Settings()})
        until(lambda: client.get("/").status_code == 500)
        assert "could not be loaded" in client.get("/").text
    assert "no judge is called 'no-such-judge'" in caplog.text
    assert judges(client)


def test_a_page_that_is_being_imported_does_not_hold_up_the_end(monkeypatch, tmp_path):
    """In Gradio's place a package of 400 modules that takes 20 seconds to import."""
    package = tmp_path / "slow_to_import"
    package.mkdir()
    names = [f"part{number}" for number in range(400)]
    for name in names:
        (package / f"{name}.py").write_text("import time; time.sleep(0.05)", encoding="utf-8")
    (package / "__init__.py").write_text(
        "".join(f"from . import {name}\n" for name in names), encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(front, "find_spec", lambda name: "somewhere")
    monkeypatch.setattr(front, "_GRACE", 0)
    monkeypatch.setattr(front.Page, "_load", lambda *_: import_module("slow_to_import"))
    finders = list(sys.meta_path)
    with started({}):
        until(lambda: "slow_to_import.part0" in sys.modules)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert sys.meta_path == finders
    assert "slow_to_import" not in sys.modules


@pytest.mark.heavy
@pytest.mark.skipif(find_spec("gradio") is None, reason="needs gradio (the extra `page`)")
def test_a_browser_that_shows_the_page_does_not_hold_up_the_end():
    with serving_page("--judge", NAME, "--timeout", "600") as (server, address):
        with httpx.stream("GET", f"{address}/gradio_api/heartbeat/x", timeout=PATIENCE) as beats:
            lines = beats.iter_lines()
            assert next(lines) == "data: ALIVE"
            server.send_signal(signal.SIGTERM)
            assert list(filter(None, lines)) == [], "it is closed, though the browser did not"
        assert server.wait(60) == 0
