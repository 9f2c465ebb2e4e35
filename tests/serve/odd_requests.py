"""Requests that are odd in any of their parts, for hypothesis to draw."""

import gzip
import json

from hypothesis import strategies as st

from .loopback import EXAMPLE, WRONG

MOST = 20_000  # bytes of a body that the server takes
JSON = b"application/json"

CHAT = {"model": "luna", "messages": [{"role": "user", "content": json.dumps(EXAMPLE)}]}
GUARDED = {"model": "m", "messages": [{"role": "user", "content": "When?"}], "documents": ["1849."]}
WORD = {"verdict_id": "0" * 32, "label": "PASS"}
LINES = b"\n".join(json.dumps(row).encode() for row in (EXAMPLE, WRONG))
ROWS = {
    "/v1/judge": EXAMPLE,
    "/v1/guard": {name: EXAMPLE[name] for name in ("question", "context", "answer")},
    "/v1/chat/completions": CHAT,
    "/v1/guarded/chat/completions": GUARDED,
    "/v1/metrics/luna2:tone": {"input": "You are kind.", "output": ""},
    "/v1/feedback": WORD,
}
BODIES = [(path, JSON.decode(), json.dumps(row).encode()) for path, row in ROWS.items()]
BODIES.append(("/v1/batches", "application/jsonl", LINES))

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


@st.composite
def mutated(draw):
    row = dict(draw(st.sampled_from(list(ROWS.values()))))
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(sorted(row)) | st.text(max_size=8)) if row else "answer"
        if draw(st.booleans()):
            row[name] = draw(values)
        else:
            row.pop(name, None)
    return draw(st.sampled_from([row, [row], [row, EXAMPLE, None], {"a": row}]))


@st.composite
def bodies(draw):
    """Return the bytes of a body: as a rule JSON, of which some is broken."""
    text = json.dumps(draw(mutated()), ensure_ascii=draw(st.booleans()))
    body = text.encode(
        draw(st.sampled_from(["utf-8"] * 6 + ["utf-16", "utf-8-sig"])), "surrogatepass"
    )
    kind = draw(st.integers(0, 12))
    if kind == 0:
        return body[: draw(st.integers(0, len(body)))]
    if kind == 1:
        return draw(st.binary(max_size=200))
    if kind == 2:
        return draw(st.sampled_from([b"[", b'{"a":', b"[[", b'"\\ud800"'])) * draw(
            st.sampled_from([1, 10, 5_000])
        )
    if kind == 3:
        return gzip.compress(body)
    if kind == 4:
        return LINES + draw(st.binary(max_size=50)) + b"\n" + body
    if kind == 5:
        return body + b" " * draw(st.sampled_from([MOST - 500, MOST, 2 * MOST]))
    return body


IDS = ["0" * 32, "x", "..", "%2e%2e", "%00", "%ff", "a%2Fb", "%25", "é", "*", "' OR 1=1", "-1"]
PATHS = [
    *ROWS,
    "/v1/batches",
    *(f"/v1/batches/{name}" for name in IDS),
    *(f"/v1/batches/{name}/output" for name in IDS),
    *(f"/v1/metrics/{name}" for name in ("", "tone", "luna2%3Atone", *IDS)),
    *(f"/v1/models/{name}" for name in ("", "luna", *IDS)),
    *("/", "//", "/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/models", "*"),
    "http://a/",
    *("/gradio_api/queue/join", "/gradio_api/file=/etc/passwd", "/config", "/..%2f..%2fetc/passwd"),
]
METHODS = "GET POST PUT PATCH DELETE HEAD OPTIONS TRACE PROPFIND get A".split()  # noqa: SIM905
HEADERS = [
    *(b"Content-Type: " + kind for kind in (b"text/plain", b"", JSON, b"\xff", b"multipart/x")),
    *(b"Host: " + host for host in (b"site.example", b"", b"[::1", b"localhost:99999999", b"\xff")),
    *(b"Origin: " + site for site in (b"null", b"https://site.example", b"", b"http://[", b"\xff")),
    *(
        b"Range: " + part
        for part in (b"bytes=0-1", b"bytes=9-1", b"bytes=a", b"bytes=" + b"0-," * 9)
    ),
    *(b"Authorization: " + key for key in (b"Bearer", b"Bearer \xff", b"Basic Og==", b"B" * 4_000)),
    *(b"Content-Length: " + size for size in (b"-1", b"a", b"+1", b"99999999999999999999", b"0x1")),
    *(b"Content-Encoding: " + how for how in (b"gzip", b"br", b"x")),
    *(b"Access-Control-Request-Method: " + name for name in (b"DELETE", b"\xff")),
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk",
    b"Expect: 100-continue",
    b"Transfer-Encoding: gzip",
    b"Cookie: " + b"a=b; " * 2_000,
    b"X-Forwarded-For: \xff\r\nX-Forwarded-Proto: javascript\r\nForwarded: host=a",
    b"Accept: application/xml\r\nAccept-Encoding: x\r\nAccept-Language: \xff",
    b"A" * 9_000 + b": b",
    b"a b: c",
    b": c",
    b" folded",
    b"nothing",
]


@st.composite
def requests(draw):
    path = draw(st.sampled_from(PATHS))
    method = (
        draw(st.sampled_from(["POST"] * 12 + METHODS))
        if path in ROWS
        else draw(st.sampled_from(METHODS))
    )
    if draw(st.integers(0, 4)) == 0:
        path += "?" + draw(
            st.sampled_from(["limit=0", "limit=2&after=%ff", "after", "a=" + "b" * 5_000])
        )
    lines = [f"{method} {path} HTTP/1.1".encode()]
    odd = draw(st.lists(st.sampled_from(HEADERS), max_size=3)) if draw(st.booleans()) else []
    lines += odd
    if not odd or draw(st.integers(0, 9)):
        kind = b"application/jsonl" if path.startswith("/v1/batches") else JSON
        lines += [b"Host: localhost", b"Content-Type: " + kind]
    body = draw(bodies()) if method != "GET" else b""
    end = None
    if draw(st.integers(0, 4)) == 0:
        lines.append(b"Transfer-Encoding: chunked")
        body = b"%x\r\n%s\r\n" % (len(body), body) * bool(body)
        end = draw(st.sampled_from([b"0\r\n\r\n"] * 4 + [b"", b"zz\r\n\r\n", b"-1\r\n\r\n"]))
    else:
        lines.append(b"Content-Length: %d" % len(body))
    request = b"\r\n".join([*lines, b"Connection: close", b"", b""]) + body + (end or b"")
    return request, end != b""
