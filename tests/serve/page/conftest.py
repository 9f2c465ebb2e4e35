import pytest

from .browsing import browsing, find, missing, serving_page, show_as

MAX_BODY = 200_000


@pytest.fixture(scope="session")
def address():
    if why := missing():
        pytest.skip(why)
    with serving_page("--max-body", str(MAX_BODY)) as (_, address):
        yield address


@pytest.fixture(scope="session")
def chromium(address, tmp_path_factory):
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(chromium, address):
    """Give a browser that has just opened the page on a desktop, in light colours."""
    show_as(chromium, 1280, 960)
    chromium.get(address)
    find(chromium, "#ask")
    chromium.get_log("browser")
    return chromium
