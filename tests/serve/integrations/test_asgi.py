import asyncio
import threading

import httpx
import pytest
from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route

from moonlynx.judge.contract.types import BadInput
from moonlynx.serve.integrations.asgi import NOTICE, GroundednessGuard, Unguardable

from ..loopback import running
from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

LATE = f"{RIGHT} It is 90 m long.\n"


router = APIRouter()


def app(judge=JUDGE, **options):
    made = FastAPI()
    made.add_middleware(GroundednessGuard, judge=judge, **options)
    made.include_router(router)
    made.state.written = []
    made.state.next = threading.Event()
    return made


@router.get("/stream")
async def stream(request: Request, answer: str):
    request.state.documents = CONTEXT
    request.state.question = QUESTION

    async def words():
        for word in answer.split(" "):
            request.app.state.written.append(word)
            yield f"{word} "
            await asyncio.sleep(0)

    return StreamingResponse(words(), media_type="text/plain")


@router.get("/whole")
def whole(request: Request, answer: str):
    request.state.documents = CONTEXT
    return PlainTextResponse(answer)


@router.get("/waiting")
async def waiting(request: Request):
    request.state.documents = CONTEXT

    async def sentences():
        yield f"{RIGHT} It is ".encode()
        assert await asyncio.to_thread(request.app.state.next.wait, 30)
        last = "90 m long — and".encode()
        yield last[:11]  # within the dash
        yield last[11:]

    return StreamingResponse(sentences(), media_type="text/plain")


@router.get("/bare")
def bare(answer: str):
    return PlainTextResponse(answer)


@router.get("/json")
def as_json(request: Request):
    request.state.documents = CONTEXT
    return JSONResponse({"answer": WRONG})


@router.get("/blank")
def blank(request: Request):
    request.state.documents = [" "]
    return PlainTextResponse(RIGHT)


@router.get("/refused")
def refused(request: Request):
    request.state.documents = CONTEXT
    raise HTTPException(404, "no such town")


@pytest.fixture(scope="module")
def served():
    made = app()
    with running(made, "critical") as address, httpx.Client(base_url=address) as client:
        yield made, client


def ask(client, path, answer):
    reply = client.get(path, params={"answer": answer})
    assert reply.status_code == 200
    return reply.text


@pytest.mark.parametrize("path", ["/stream", "/whole"])
def test_a_supported_answer_passes_whole(served, path):
    text = ask(served[1], path, LATE)
    assert text.rstrip(" ") == LATE.rstrip(" ")


@pytest.mark.parametrize("path", ["/stream", "/whole"])
def test_an_unsupported_sentence_is_held_back(served, path):
    assert ask(served[1], path, f"{WRONG} It is 90 m long.") == f"{RIGHT} {NOTICE}"


def test_the_app_stops_writing_and_failures_pass_as_they_are(served):
    made, client = served
    made.state.written.clear()
    ask(client, "/stream", WRONG + " It is long." * 500)
    assert len(made.state.written) < 100
    assert ask(served[1], "/bare", WRONG) == WRONG
    assert served[1].get("/refused").json() == {"detail": "no such town"}
    with running(app(Silent())) as address, httpx.Client(base_url=address) as client:
        assert ask(client, "/stream", RIGHT) == NOTICE


def test_a_sentence_comes_before_the_next_is_written(served):
    made, client = served
    made.state.next.clear()
    with client.stream("GET", "/waiting") as reply:
        pieces = reply.iter_text()
        assert next(pieces) == RIGHT
        made.state.next.set()
        assert "".join(pieces) == " It is 90 m long — and"


def call(made, path):

    async def get():
        transport = httpx.ASGITransport(made)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            return await client.get(path)

    return asyncio.run(get())


def test_what_cannot_be_read_is_a_fault_and_not_an_answer(served):
    made, client = served
    assert client.get("/json").status_code == 500
    with pytest.raises(Unguardable, match="must be text/plain"):
        call(made, "/json")
    with pytest.raises(BadInput, match="the request's state, documents: holds no text"):
        call(made, "/blank")


async def town(request):
    request.state.documents = CONTEXT
    return PlainTextResponse(WRONG + " " * 2_000)


def test_it_stands_within_compression_in_any_app():
    guard = Middleware(GroundednessGuard, judge=JUDGE, notice="…")
    routes = [Mount("/towns", routes=[Route("/{name}", town)])]
    inside = Starlette(routes=routes, middleware=[Middleware(GZipMiddleware), guard])
    assert call(inside, "/towns/x").text == f"{RIGHT} …"
    outside = Starlette(routes=routes, middleware=[guard, Middleware(GZipMiddleware)])
    with pytest.raises(Unguardable, match="compressed"):
        call(outside, "/towns/x")


def test_a_file_that_the_server_would_send_is_refused():
    async def sending(scope, receive, send):
        scope["state"]["documents"] = CONTEXT
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.pathsend", "path": "/answer.txt"})

    with pytest.raises(Unguardable, match="pathsend"):
        call(GroundednessGuard(sending, JUDGE), "/")


@pytest.mark.parametrize("path", ["/stream", "/whole"])
def test_by_option_a_response_is_filtered_or_marked_and_says_so(path):
    for on_fail, text, said in (
        ("filter", RIGHT, "filtered; kept=1; removed=1"),
        ("annotate", f"{WRONG} [unsupported]", "annotated; kept=1; marked=1"),
    ):
        made, states = app(on_fail=on_fail), []
        reply = call(Keeping(made, states), f"{path}?answer={WRONG}")
        assert reply.text.rstrip() == text
        assert reply.headers["moonlynx-correction"] == said
        assert states[0]["correction"].original.rstrip() == WRONG
        assert call(made, f"{path}?answer={RIGHT}").text.rstrip() == RIGHT
    assert call(app(Silent(), on_fail="filter"), f"{path}?answer={RIGHT}").text == NOTICE
    blank = call(app(on_fail="filter"), f"{path}?answer=")
    assert (blank.status_code, blank.text.strip()) == (200, "")
    assert "moonlynx-correction" not in blank.headers


class Keeping:
    """Middleware outside of the guard that keeps the request's state."""

    def __init__(self, inner, states):
        self.inner, self.states = inner, states

    async def __call__(self, scope, receive, send):
        self.states.append(scope.setdefault("state", {}))
        await self.inner(scope, receive, send)
