import json
from importlib.util import find_spec

import pytest

from ..loopback import EXAMPLE
from .browsing import browsing, find, missing, serving_page, show_as

MAX_BODY = 200_000
CANARY = "canary-5f2c"  # in no response


@pytest.fixture(scope="session")
def storage(tmp_path_factory):
    return tmp_path_factory.mktemp("storage")


@pytest.fixture(scope="session")
def server(storage):
    if find_spec("gradio") is None:
        pytest.skip("needs gradio (the extra `page`)")
    with serving_page("--max-body", str(MAX_BODY), storage=storage) as server:
        yield server


@pytest.fixture(scope="session")
def address(server):
    return server[1]


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.jsonl"
    path.write_text(json.dumps(EXAMPLE | {"id": CANARY, "answer": CANARY}), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    if why := missing():
        pytest.skip(why)
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(chromium, address):
    """Return a browser that has just opened the page on a desktop, in light colours."""
    show_as(chromium, 1280, 960)
    chromium.get(address)
    find(chromium, "#ask")
    chromium.get_log("browser")
    return chromium
