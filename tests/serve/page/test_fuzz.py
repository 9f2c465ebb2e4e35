import json
import string
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..loopback import EXAMPLE
from ..test_fuzz import MEGABYTE, vitals
from .browsing import PATIENCE, send
from .conftest import CANARY

pytestmark = [pytest.mark.heavy, pytest.mark.fuzz]

JOIN = "/gradio_api/queue/join"
LINES = {"Content-Type": "application/jsonl"}
SESSIONS = ("fuzz1", "fuzz2", "fuzz3")
STREAMS = ("/gradio_api/heartbeat/", "/gradio_api/queue/data", "/gradio_api/startup-events")
PATHS = (
    *("/", "/config", "/theme.css", "/manifest.json", "/favicon.ico", "/login", "/page/file", JOIN),
    *("/assets/", "/static/", "/svelte/", "/static/../", "/static/%2e%2e/", "/page/"),
    "/page/file/",
    *(f"/gradio_api/{name}" for name in ("upload", "file=", "run/judge", "call/judge", "cancel")),
    *(f"/gradio_api/{name}" for name in ("reset", "theme.css", "proxy=", "stream/x", "deep_link")),
    *STREAMS,
)
HEADERS = {
    "Content-Type": st.sampled_from(
        ["application/json", "application/jsonl", "text/plain", "multipart/form-data; boundary=x"]
    ),
    "Origin": st.sampled_from(["null", "http://evil.example", ""]),
    "Sec-Fetch-Site": st.sampled_from(["same-origin", "none", "cross-site", "x"]),
    "Cookie": st.sampled_from(["a=b", "moonlynx-0=1-2-3", "=;=;", "access-token=x"]),
    "Authorization": st.sampled_from(["Bearer x", "Basic eA==", "Bearer"]),
    "Range": st.sampled_from(["bytes=0-5", "bytes=9-1", "x"]),
    "X-Forwarded-Host": st.sampled_from(["evil.example", "", "a,b"]),
}


def requests(secret):
    texts = st.text(max_size=20) | st.sampled_from([str(secret), secret.as_uri(), "luna", "---"])
    plain = st.none() | st.booleans() | st.integers() | st.floats() | texts
    names = st.sampled_from(["path", "url", "meta", "_type", "data", "is_file"]) | texts
    values = st.recursive(plain, lambda some: st.lists(some) | st.dictionaries(names, some))
    file = st.just({"path": str(secret), "meta": {"_type": "gradio.FileData"}})
    session = st.sampled_from(SESSIONS)
    call = st.fixed_dictionaries(
        {
            "data": st.lists(texts | file | values, max_size=6),
            "fn_index": st.integers(-1, 20) | values,
            "session_hash": session | values,
        },
        optional=dict.fromkeys(("event_data", "trigger_id", "batched", "event_id", "x"), values),
    )
    accepted = st.fixed_dictionaries(
        {
            "data": st.tuples(texts, texts, texts, st.sampled_from(["luna", "x"]), texts),
            "fn_index": st.just(0),
            "session_hash": session,
        }
    )
    line = (values | st.just(EXAMPLE)).map(json.dumps).map(str.encode) | st.binary(max_size=40)
    lines = st.lists(line, max_size=6).map(b"\n".join)
    headers = st.fixed_dictionaries({}, optional=HEADERS)
    tail = texts.map(quote) | st.text(string.printable[:94], max_size=9)
    anywhere = st.tuples(
        st.sampled_from(["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "X"]),
        st.builds(
            "{}{}{}".format,
            st.sampled_from(PATHS),
            st.sampled_from(["", "", "?session_hash=fuzz1", "?judge=luna", "?", "#", "/"]),
            tail,
        ),
        headers,
        lines | call.map(json.dumps).map(str.encode),
    )
    called = st.tuples(
        st.just("POST"),
        st.just(JOIN),
        st.just({"Content-Type": "application/json"}),
        (call | accepted).map(json.dumps).map(str.encode),
    )
    listened = st.tuples(
        st.just("GET"),
        session.map("/gradio_api/queue/data?session_hash={}".format),
        headers,
        st.just(b""),
    )
    sent = st.tuples(st.just("POST"), st.just("/page/file?judge=luna"), st.just(LINES), lines)
    return anywhere | called | listened | sent


def ask(client, method, target, headers, body):
    answer = send(client, method, target, headers=headers, content=body)
    try:
        endless = answer.headers.get("content-type", "").startswith("text/event-stream")
        return answer.status_code, b"" if endless else answer.read()
    finally:
        answer.close()


def verdict(client, body):
    session = json.loads(body)["session_hash"]
    return client.get("/gradio_api/queue/data", params={"session_hash": session}).content


def test_random_requests_break_nothing(server, secret):
    process, address = server
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:

        @given(requests(secret))
        def check(request):
            status, got = ask(client, *request)
            assert status < 500
            if request[1] == JOIN and status == 200:
                got += verdict(client, request[3])
            assert CANARY.encode() not in got

        before, *_ = vitals(process)
        check()
        assert process.poll() is None
        assert client.get("/readyz").status_code == 200
        assert vitals(process)[0] < before + 256 * MEGABYTE
