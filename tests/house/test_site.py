"""The site builds without a warning, needs nothing from elsewhere, and fits a phone."""

import json
import re
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..running import run

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.heavy,  # a build
    pytest.mark.skipif(not find_spec("mkdocs_swagger_ui_tag"), reason="needs `make docs`"),
]
LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//|<link[^>]*stylesheet"? href="http'
)


def build(folder, config=ROOT / "mkdocs.yml"):
    options = ("--config-file", config, "--site-dir", folder)
    return run(sys.executable, "-m", "mkdocs", "build", *options, cwd=ROOT)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_no_page_loads_anything_from_elsewhere(site):
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert len(pages) > 60
    assert [str(path) for path, text in pages.items() if LOADED.search(text)] == []
    assert not LOADED.search('<a href="https://x.org"><img src="images/a.png">')
    assert LOADED.search('<script src="https://unpkg.com/mermaid">')


def test_the_references_are_those_of_the_package(site):
    from typer.main import get_command

    import moonlynx
    from moonlynx.cli import app

    text = {
        page: (site / "reference" / page).read_text("utf-8") for page in ("cli.html", "python.html")
    }
    for name in get_command(app).commands:
        assert f'id="moonlynx-{name}"' in text["cli.html"]
    for name in set(moonlynx.__all__) - {"__version__"}:
        assert f".{name}" in text["python.html"]
    assert "raw_score" in text["python.html"]
    paths = json.loads((site / "reference" / "openapi.json").read_text("utf-8"))["paths"]
    assert "/v1/judge" in paths


def test_a_broken_link_stops_the_build(tmp_path):
    tree = tmp_path / "tree"
    made = (".git", ".venv*", "build", ".*_cache", ".hypothesis", "__pycache__", "*.onnx")
    ignore = shutil.ignore_patterns(*made)
    shutil.copytree(ROOT, tree, ignore=ignore, symlinks=True)
    with (tree / "docs" / "quickstart.md").open("a", encoding="utf-8") as page:
        page.write("[nowhere](judges.md#no-such-heading)\n")
    done = build(tmp_path / "out", tree / "mkdocs.yml")
    assert done.returncode == 1
    assert "no-such-heading" in done.stderr


@pytest.fixture
def browser(site, tmp_path):
    from ..serve.page.browsing import browsing, missing

    if why := missing("selenium"):
        pytest.skip(why)
    with browsing(tmp_path) as browser:
        yield browser


@pytest.fixture
def address(site):
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    handler.log_message = lambda *_: None
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("width", [1280, 360])
def test_pages_fit_the_window_and_ask_no_other_host(width, browser, address):
    from ..serve.page.browsing import find, requested, show_as

    show_as(browser, width, 800, mobile=width < 600)
    pages = ("index", "quickstart", "concepts", "how-to", "judges", "reference/python")
    for page in (*pages, "architecture"):
        browser.get(f"{address}/{page}.html")
        find(browser, "h1")
        wide = "return document.documentElement.scrollWidth - innerWidth"
        assert browser.execute_script(wide) <= 0, page
        broken = "return [...document.images].filter(one => !one.naturalWidth).map(one => one.src)"
        assert browser.execute_script(broken) == [], page
    browser.get(f"{address}/reference/http.html")
    find(browser, "iframe")
    urls = [one["request"]["url"] for one in requested(browser)]
    assert len(urls) > 20
    assert [url for url in urls if url.startswith("http") and not url.startswith(address)] == []
