import hashlib
from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient

from moonlynx import load_judge
from moonlynx.serve.app import create_app
from moonlynx.serve.page import front, login
from moonlynx.serve.service import Settings

from ..loopback import EXAMPLE
from .browsing import browsing, click, find, missing, serving_page
from .test_browser import fill

KEY = "a-long-and-random-key"
HASH = hashlib.sha256(KEY.encode()).hexdigest()
JOIN = "/gradio_api/queue/join"


@pytest.fixture
def calling(monkeypatch):
    monkeypatch.setattr(front, "find_spec", lambda name: None)
    settings = Settings(keys=(HASH.encode(),))
    with ExitStack() as clients:

        def start():
            app = create_app(load_judge("token-similarity"), settings, compare={})
            client = TestClient(app, "http://localhost", follow_redirects=False)
            return clients.enter_context(client)

        yield start


@pytest.fixture
def client(calling):
    return calling()


def sign_in(client, key=KEY, **headers):
    return client.post("/login", data={"key": key}, headers=headers)


def cookie(client):
    ((name, value),) = client.cookies.items()
    return name, value


def test_without_a_session_the_form_stands_there(client):
    answer = client.get("/")
    assert answer.status_code == 401
    assert '<input id="key" name="key" type="password"' in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert client.get("/login").headers["location"] == "/"
    assert client.get("/", headers={"Authorization": f"Bearer {KEY}"}).status_code == 200
    for path in ("/config", "/gradio_api/queue/data?session_hash=x", "/assets/index.js"):
        assert client.get(path).json()["error"]["code"] == "unauthorized"
    for path in (JOIN, front.FILES):
        assert client.post(path).status_code == 401


def test_a_known_key_opens_the_page_and_nothing_else(client):
    answer = sign_in(client, f" {KEY} ")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    set_cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in set_cookie
    assert "samesite=strict" in set_cookie
    assert KEY not in set_cookie
    assert HASH not in set_cookie
    assert client.get("/").status_code == 200
    for method, path in (("POST", "/v1/judge"), ("GET", "/metrics"), ("GET", "/openapi.json")):
        assert client.request(method, path, json=EXAMPLE).status_code == 401
    bearer = {"Authorization": f"Bearer {KEY}"}
    assert client.post("/v1/judge", json=EXAMPLE, headers=bearer).json()["score"] == "PASS"


@pytest.mark.parametrize("key", ["", "x", HASH, f"{KEY}\0", "ß" * 100, "<script>"])
def test_another_key_opens_nothing(client, key):
    answer = sign_in(client, key)
    assert answer.status_code == 401
    assert 'role="alert">Unknown key' in answer.text
    assert "<script>" not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("body", [b"", b"key", b"key=%ff%fe", b"\xff=&&&", b'{"key": 1}'])
def test_a_form_of_another_shape_opens_nothing(client, body):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/login", content=body, headers=headers).status_code == 401
    assert client.post("/login", content=body or b"x").status_code == 415


def test_a_form_is_small_a_session_ends_and_its_cookie_is_for_https_alone_where_that_is_spoken(
    client, monkeypatch
):
    answer = sign_in(client, "x" * login.LARGEST)
    assert answer.json()["error"]["code"] == "too_large"
    before = int(login.time.time())
    sign_in(client)
    end = int(cookie(client)[1].partition("-")[0])
    assert before <= end - 12 * 3_600 <= login.time.time()
    monkeypatch.setattr(login.time, "time", lambda: end - 1)
    assert client.get("/").status_code == 200
    monkeypatch.setattr(login.time, "time", lambda: end + 1)
    assert client.get("/").status_code == 401
    secure = client.post("https://localhost/login", data={"key": KEY}).headers["set-cookie"]
    assert "Secure" in secure
    assert "Secure" not in sign_in(client).headers["set-cookie"]


def test_a_cookie_that_the_server_did_not_sign_opens_nothing(client, calling):
    sign_in(client)
    name, value = cookie(client)
    expiry, nonce, signature = value.split("-")
    other = calling()
    sign_in(other)
    forged = [
        "",
        "-",
        f"{int(expiry) + 1}-{nonce}-{signature}",
        f"{expiry}-{nonce[:-1]}-{signature}",
        f"{expiry}-{nonce}-{signature[:-1]}",
        f"{expiry}-{nonce}-\xe9",
        cookie(other)[1],
    ]
    client.cookies.clear()
    for one in forged:
        header = f"{name}={one}".encode("latin-1")
        assert client.get("/", headers={"Cookie": header}).status_code == 401, one


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:8001"},
        {"Origin": "null"},
    ],
)
def test_a_cross_site_post_does_nothing_with_the_cookie(client, headers):
    assert sign_in(client, **headers).status_code == 403
    sign_in(client)
    for path in (JOIN, front.FILES, "/"):
        answer = client.post(path, json={}, headers=headers)
        assert answer.json()["error"]["param"] == "Origin"


@pytest.mark.heavy
def test_a_person_signs_in_with_a_browser(tmp_path):
    if why := missing():
        pytest.skip(why)
    keys = tmp_path / "keys"
    keys.write_text(f"{HASH}  -\n")
    with (
        serving_page("--judge", "token-similarity", "--keys", str(keys)) as (_, address),
        browsing(tmp_path) as browser,
    ):
        browser.get(address)
        for key, leads_to in (("wrong", "[role=alert]"), (KEY, "#ask")):
            find(browser, "#key").send_keys(key)
            click(browser, "button")
            find(browser, leads_to)
        fill(browser, answer=EXAMPLE["answer"])
        click(browser, "#ask")
        find(browser, ".mx-result")
        assert browser.execute_script("return document.cookie") == ""
