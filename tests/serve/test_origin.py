import asyncio
import json
import re
from functools import cache

import httpx
import pytest
from starlette.testclient import TestClient

from moonlynx import load_judge
from moonlynx.judge.contract.types import BadInput
from moonlynx.serve.app import create_app
from moonlynx.serve.routes.batch_files import KINDS
from moonlynx.serve.service import Settings

from ..cases import cases
from .loopback import EXAMPLE, calling, command

BODY = json.dumps(EXAMPLE).encode()
SITE = "https://site.example"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with calling(settings=Settings(jobs=tmp_path_factory.mktemp("jobs"))) as client:
        yield client


@cache
def served(settings):
    return TestClient(create_app(load_judge("token-similarity"), settings))


def asked(settings, headers, path="/healthz", method="GET"):
    return served(settings).request(method, path, headers=headers)


@pytest.mark.parametrize("kind", cases(__file__, "media_types"))
@pytest.mark.parametrize(
    "path", ["/v1/judge", "/v1/batches", "/v1/guard", "/v1/chat/completions", "/nothing"]
)
def test_a_body_that_a_form_could_send_is_refused(client, path, kind):
    headers = {} if kind is None else {"Content-Type": kind.encode("latin-1")}
    for content in (BODY, iter([BODY])):  # announced, and in parts
        reply = client.post(path, content=content, headers=headers)
        assert reply.status_code == 415
        error = reply.json()["error"]
        assert (error["code"], error["param"]) == ("not_json", "Content-Type")
        wanted = KINDS if path == "/v1/batches" else ("application/json",)
        assert error["message"] == f"Content-Type: send the body as {' or '.join(wanted)}"


def test_two_media_types_are_none(client):
    headers = [("Content-Type", "text/plain"), ("Content-Type", "application/json")]
    assert client.post("/v1/judge", content=BODY, headers=headers).status_code == 415


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/judge", "application/json"),
        ("/v1/judge", "Application/JSON ; charset=utf-8"),
        *(("/v1/batches", kind) for kind in KINDS),
    ],
)
def test_json_may_have_parameters_and_files_are_lines_or_bytes(client, path, kind):
    reply = client.post(path, content=BODY, headers={"Content-Type": kind})
    assert reply.status_code == (202 if path == "/v1/batches" else 200)


def test_a_large_file_of_another_kind_gets_its_answer(client):
    """A client that sends on after the answer would see a broken connection in its place."""
    reply = client.post("/v1/batches", content=(BODY * 2_000 for _ in range(40)))
    assert reply.status_code == 415


@pytest.mark.parametrize("path", ["/v1/judge", "/healthz", "/metrics", "/openapi.json", "/"])
@pytest.mark.parametrize(
    "host", ["site.example", "localhost.site.example", "127.0.0.1.site.example:80", "10.0.0.7", "x"]
)
def test_a_name_that_was_led_here_is_refused(client, host, path):
    reply = client.get(path, headers={"Host": host})
    assert reply.status_code == 421
    error = reply.json()["error"]
    assert (error["code"], error["param"]) == ("other_host", "Host")
    assert "--allowed-host" in error["message"]


@pytest.mark.parametrize(
    "host", ["", " ", "a b", "http://localhost", "user@localhost", "[::1", "localhost:x", "\xff"]
)
def test_what_is_no_name_is_refused(host):
    assert asked(Settings(hosts=("*.org",)), {"Host": host.encode("latin-1")}).status_code == 421


def test_two_names_are_none():
    headers = [("Host", "localhost"), ("Host", "site.example")]
    assert asked(Settings(), headers).status_code == 421


@pytest.mark.parametrize(("settings", "headers", "status"), cases(__file__, "sites"))
def test_names_and_the_servers_own_page_are_told_apart(settings, headers, status):
    """TLS may end before the server, which then does not know of it."""
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in settings.items()}
    assert asked(Settings(**given), headers).status_code == status


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "GET", "OPTIONS"])
@pytest.mark.parametrize("path", ["/v1/judge", "/v1/batches", "/gradio_api/queue/join", "/"])
@pytest.mark.parametrize("origin", [SITE, "null", "", "http://localhost.site.example"])
def test_pages_of_other_sites_are_refused(client, method, path, origin):
    headers = {"Origin": origin, "Content-Type": "application/json"}
    reply = client.request(method, path, headers=headers)
    assert reply.status_code == 403
    assert reply.json()["error"]["code"] == "other_site"
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_two_origins_must_both_be_let_in():
    headers = [("Host", "localhost"), ("Origin", "http://localhost"), ("Origin", SITE)]
    assert asked(Settings(), headers).status_code == 403


def test_a_site_that_is_named_is_let_in_and_told_so():
    settings = Settings(origins=("https://Site.example/",))
    headers = {"Host": "localhost", "Origin": SITE}
    before = headers | {"Access-Control-Request-Method": "DELETE"}
    allowed = "Access-Control-Allow-Origin"
    assert asked(settings, headers).headers[allowed] == SITE
    assert asked(settings, before, "/v1/batches/x", "OPTIONS").headers[allowed] == SITE
    assert asked(settings, headers | {"Origin": "https://a.example"}).status_code == 403
    assert asked(Settings(origins=("*",)), headers).headers[allowed] == "*"


@pytest.mark.parametrize(
    "headers", [[(b"host", b"site.example")], [(b"host", b"localhost"), (b"origin", b"null")]]
)
def test_a_websocket_is_held_to_the_same(headers):
    sent = []

    async def ask():
        app = create_app(load_judge("token-similarity"))
        scope = {"type": "websocket", "path": "/", "headers": headers, "query_string": b""}

        async def send(message):
            sent.append(message)

        await app(scope, None, send)

    asyncio.run(ask())
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            Settings(hosts=("http://a.example",)),
            "--allowed-host: 'http://a.example' is not a host name",
        ),
        (Settings(hosts=("a.example/",)), "--allowed-host: 'a.example/' is not a host name"),
        (Settings(origins=("a.example",)), "--allowed-origin: 'a.example' is not an origin"),
    ],
)
def test_what_could_never_be_asked_by_is_refused_at_the_start(settings, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        create_app(load_judge("token-similarity"), settings)


def test_the_methods_that_a_client_makes_up_share_a_counter():
    client = TestClient(create_app(load_judge("token-similarity")), base_url="http://localhost")
    for number in range(5):
        assert client.request(f"MADEUP{number}", "/healthz").status_code == 405
    counts = client.get("/metrics").text
    assert 'method="other",route="/healthz",status="405"} 5.0' in counts
    assert "MADEUP" not in counts


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "taken", "refused"),
    [
        ((), ("127.0.0.1", "localhost:1"), ("site.example", "x", "10.0.0.7")),
        (("--allowed-host", "judge.example.org"), ("judge.example.org",), ("x", "site.example")),
        (("--host", "0.0.0.0"), ("127.0.0.1", "10.0.0.7", "x"), ("site.example",)),
    ],
    ids=["loopback", "named", "all"],
)
def test_the_command_knows_its_names(options, taken, refused):
    with command("--judge", "token-similarity", *options) as (_, address):
        address = address.replace("0.0.0.0", "127.0.0.1")
        statuses = {
            host: httpx.get(f"{address}/healthz", headers={"Host": host}).status_code
            for host in (*taken, *refused)
        }
    assert statuses == dict.fromkeys(taken, 200) | dict.fromkeys(refused, 421)
