import pytest
from tenacity import wait_none

from moonlynx.judge.backends import endpoint

from .loopback import Server


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv(endpoint.KEY_VARIABLE, raising=False)
    monkeypatch.setattr(endpoint, "_BACKOFF", wait_none())
    server = Server()
    yield server
    server.close()
