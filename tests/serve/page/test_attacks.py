"""What a hostile client tries at the page, against the server that the command starts."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from moonlynx import Verdict

from ..loopback import EXAMPLE, WRONG
from .browsing import PATIENCE, send
from .conftest import CANARY

pytestmark = pytest.mark.heavy

JOIN = "/gradio_api/queue/join"
FILES = "/page/file?judge=luna"
LINES = {"Content-Type": "application/jsonl"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def client(address):
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        yield client


def named(way, secret):
    if way == "link":
        (secret.parent / "link.jsonl").symlink_to(secret)
    return {
        "absolute": str(secret),
        "dots": f"{secret.parent}/../{secret.parent.name}/{secret.name}",
        "many dots": f"{'../' * 30}{secret}"[:-1] + "l",
        "link": str(secret.parent / "link.jsonl"),
        "file URL": secret.as_uri(),
        "own URL": f"/gradio_api/file={secret}",
        "process": "/proc/self/environ",
    }[way]


WAYS = ("absolute", "dots", "many dots", "link", "file URL", "own URL", "process")


def as_file(path, **more):
    return {"path": path, "meta": {"_type": "gradio.FileData"}, **more}


def call(data, function=0, **more):
    return {"data": data, "fn_index": function, "session_hash": "attacker", **more}


def assert_refused(answer, code=422):
    answer.read()
    assert answer.status_code == code, answer.text
    assert answer.json()["error"]["message"]
    assert CANARY not in answer.text


@pytest.mark.parametrize("way", WAYS)
def test_no_function_takes_a_path(client, secret, way):
    """Of any input, in any shape; Gradio would read the file before the function is called."""
    file = as_file(named(way, secret))
    plain = ["q", "d", "a", "luna", "none"]
    for place in range(5):
        data = [*plain[:place], file, *plain[place + 1 :]]
        assert_refused(client.post(JOIN, json=call(data)))
        assert_refused(client.post(JOIN, json=call([*plain[:4], [file]])))
    for function in range(len(client.get("/config").json()["dependencies"])):
        assert_refused(client.post(JOIN, json=call([file, "luna"], function)))
    assert_refused(client.post(JOIN, json=call(plain, event_data=file)))
    assert_refused(client.post(JOIN, json=call(plain, event_data={"target": [file]})))


@pytest.mark.parametrize("key", ["path", "url"])
def test_no_url_is_fetched(client, key):
    with socket.create_server(("127.0.0.1", 0)) as other:
        url = f"http://127.0.0.1:{other.getsockname()[1]}/rows.jsonl"
        file = as_file("/none") | {key: url}
        for place in range(5):
            data = ["x"] * 5
            data[place] = file
            assert_refused(client.post(JOIN, json=call(data)))
        assert_refused(client.get(f"/gradio_api/file={url}"), 404)
        assert_refused(client.get(f"/gradio_api/proxy={url}"), 404)
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()


@pytest.mark.parametrize("transport", ["run", "api", "call", "call/v2"])
@pytest.mark.parametrize("name", ["judge", "judge_1", "predict", "0"])
def test_there_is_no_other_way_to_a_function(client, secret, transport, name):
    path = f"/gradio_api/{transport}/{name}"
    for target in (path, f"{path}/", f"/gradio_api/queue/../{transport}/{name}"):
        for data in ([as_file(str(secret)), "luna"], {"file": as_file(str(secret))}):
            assert_refused(send(client, "POST", target, json=call(data)), 404)


@pytest.mark.parametrize("way", WAYS)
def test_no_file_is_served(client, secret, way):
    path = named(way, secret)
    begins = (
        *("/gradio_api/file=", "/file=", "/gradio_api/file/", "/gradio_api/stream/"),
        *("/static/", "/assets/", "/svelte/", "/static/..%2f..%2f..%2f..%2f..%2f..%2f.."),
        "/assets/../../../../../../../..",
    )
    for begin in begins:
        for method in ("GET", "HEAD"):
            answer = send(client, method, f"{begin}{path}")
            answer.read()
            assert answer.status_code in (403, 404, 405), (begin, answer.status_code)
            assert CANARY not in answer.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", f"/gradio_api/{name}") for name in ("upload", "upload?upload_id=a", "upload/")),
        *(("GET", f"/gradio_api/{name}") for name in ("upload_progress?upload_id=a", "deep_link")),
        ("POST", "/gradio_api/component_server"),
        ("POST", "/gradio_api/process_recording"),
    ],
)
def test_gradio_takes_no_upload(client, method, path):
    file = {"files": ("rows.jsonl", json.dumps(EXAMPLE))} if method == "POST" else None
    assert client.request(method, path, files=file).status_code in (404, 415)
    assert_refused(client.request(method, path, headers=JSON), 404)


def verdicts(answer):
    assert answer.status_code == 200, answer.text
    steps = [json.loads(line) for line in answer.text.splitlines()]
    return [Verdict.model_validate_json(x) for step in steps for x in step["verdicts"].splitlines()]


def test_each_client_gets_the_verdicts_of_its_own_file(client):
    def judge(number):
        rows = [one | {"id": f"{number}-{i}"} for one in (EXAMPLE, WRONG) for i in range(20)]
        answer = client.post(FILES, content="\n".join(map(json.dumps, rows)), headers=LINES)
        assert [verdict.id for verdict in verdicts(answer)] == [row["id"] for row in rows]
        assert answer.text.count("<table>") == 1
        return answer.text

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(judge, range(8)))
    for number, text in enumerate(texts):
        assert not any(f"{other}-0" in text for other in range(8) if other != number)
    # It is nowhere to be asked for: neither by its client nor by another.
    assert client.get(FILES).status_code == 404


@pytest.mark.parametrize("judge", ["", "token-similarity%00", "lynx:x@http://127.0.0.1:9/v1", "x"])
def test_a_file_is_judged_only_by_a_judge_that_is_offered(client, judge):
    answer = client.post(
        "/page/file", params={"judge": judge}, content=json.dumps(EXAMPLE), headers=LINES
    )
    assert_refused(answer)
    assert "choose one of luna, token-similarity" in answer.text


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"null", b"{", b"\xff", b'{"data": []}', b"[" * 100_000,
        json.dumps(call(["x"] * 17)).encode(),
        json.dumps(call(["x"], 9_999)).encode(),
        json.dumps(call(["x"], -1)).encode(),
        json.dumps(call(["x"]) | {"session_hash": "../x"}).encode(),
        json.dumps(call(["x"], batched=True)).encode(),
        json.dumps(call([1.5])).encode(),
    ],
)  # fmt: skip
def test_a_call_of_another_shape_is_refused(client, body):
    assert_refused(client.post(JOIN, content=body, headers=JSON))


def test_nothing_sent_is_written_to_disk(client, storage):
    client.post(FILES, content=json.dumps(EXAMPLE), headers=LINES).raise_for_status()
    client.post(JOIN, json=call([*"qda", "luna", "none"])).raise_for_status()
    (folder,) = storage.glob("moonlynx-page-*")
    assert [path for path in folder.rglob("*") if path.is_file()] == []
