"""What `/` shows: a notice while Gradio is imported beside the API, and then the page."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import TypeVar

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.contract.visible import visible
from moonlynx.judge.registry import load_judge

from ..service import Service, Settings

Result = TypeVar("Result")

JUDGING = "/gradio_api/queue/join"  # where its texts are sent to
FILES = "/page/file"
_HEARTBEAT = "/gradio_api/heartbeat/"  # held open for as long as a browser shows the page
# What the page itself asks for. All else is the API's, unknown paths too.
_PATHS = re.compile(
    "|".join(
        (
            "/",
            "/(assets|static|svelte)/.+",
            r"/(gradio_api/)?theme\.css",
            r"/(config|favicon\.ico|manifest\.json)",
            # Nothing that takes or serves files: Gradio would look for them anywhere.
            "/gradio_api/(queue/(join|data)|startup-events|heartbeat/.+)",
            FILES,
        )
    )
)
# The browser itself holds to it: nothing is asked of another host, and no other site frames us.
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",  # Gradio's templates
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
GUARDED = {
    "content-security-policy": _POLICY,
    "referrer-policy": "same-origin",  # without any, a form is sent with Origin: null
    "x-content-type-options": "nosniff",
}
_LOADING = "<p>The page is loading. The API is ready: POST /v1/judge.</p>"
_MISSING = (
    "<p>The API is ready: POST /v1/judge. For a page here, "
    "<code>pip install 'moonlynx[page]'</code> and start the server again.</p>"
)
_FAILED = (
    "<p>The page could not be loaded; the server's log says why. "
    "The API is ready: POST /v1/judge.</p>"
)
_GRACE = 1.0  # seconds that the first requests have the machine to themselves
_LOOK = 0.5  # seconds between two looks whether the server is to end
_log = logging.getLogger("moonlynx.serve")


class Page:
    """The page of a server, and the judges that only it asks."""

    def __init__(self, service: Service, compare: Mapping[str, Settings]) -> None:
        self._service = service
        self._compare = compare
        self._shown: ASGIApp = notice(503, _LOADING)

    async def run(self) -> None:
        """Load the page, and show it until cancelled."""
        if find_spec("gradio") is None:
            self._shown = notice(200, _MISSING)
            return
        try:
            # Gradio makes folders as it is loaded, else at a place that other users may hold.
            with TemporaryDirectory(prefix="moonlynx-page-") as folder:
                await self._show(folder)
        except Exception as error:
            # The API goes on. An error that the user can fix needs no traceback.
            fault = None if isinstance(error, MoonlynxError) else error
            why = visible(str(error), lines=False)
            _log.error("the page could not be loaded: %s", why, exc_info=fault)
            self._shown = notice(500, _FAILED)

    async def _show(self, folder: str) -> None:
        await asyncio.sleep(_GRACE)
        imports = _Imports()
        try:
            others, app = await asyncio.to_thread(imports.watch, partial(self._load, folder))
        finally:
            imports.end()
        async with app.router.lifespan_context(app), asyncio.TaskGroup() as group:
            for other in others:
                group.create_task(other.batcher.run())
            self._shown = app
            await asyncio.Event().wait()

    def _load(self, folder: str) -> tuple[list[Service], FastAPI]:
        """Load the other judges and Gradio, in a thread."""
        os.environ.update(GRADIO_ANALYTICS_ENABLED="False", GRADIO_TEMP_DIR=folder)
        from .blocks import make_app

        served = {self._service.info.name: self._service}
        others = {
            name: Service(load_judge(name), settings)
            for name, settings in self._compare.items()
            if name not in served
        }
        return list(others.values()), make_app(served | others)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request for the page."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(GUARDED)
            await send(message)

        async def receive_or_end() -> Message:
            """Receive a message, or report the browser as gone once the server is to end."""
            coming = asyncio.ensure_future(receive())
            while not self._service.settings.over():
                if (await asyncio.wait([coming], timeout=_LOOK))[0]:
                    return coming.result()
            coming.cancel()
            return {"type": "http.disconnect"}

        beats = scope["path"].startswith(_HEARTBEAT)
        await self._shown(scope, receive_or_end if beats else receive, send_guarded)


class _Imports:
    """Lets a thread import, and breaks it off at its next import once no one waits for it."""

    # Python waits for its threads when it ends, and Gradio alone is seconds of importing.

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread: int | None = None

    def watch(self, work: Callable[[], Result]) -> Result:
        """Do the work, in this thread."""
        self._thread = threading.get_ident()
        sys.meta_path.insert(0, self)
        try:
            return work()
        finally:
            sys.meta_path.remove(self)

    def end(self) -> None:
        """Break off what is still under way."""
        self._ended.set()

    def find_spec(self, *_: object) -> None:
        """Find no module; Python calls this before all other finders."""
        if self._ended.is_set() and threading.get_ident() == self._thread:
            raise asyncio.CancelledError


def is_page(path: str) -> bool:
    """Return whether a path is the page's."""
    return _PATHS.fullmatch(path) is not None


def route_of(page: Page) -> BaseRoute:
    """Return the route that leads to the page, and leaves the API's paths alone."""

    class PageRoute(Mount):
        def matches(self, scope: Scope) -> tuple[Match, Scope]:
            if scope["type"] != "http" or not is_page(scope["path"]):
                return Match.NONE, {}
            return super().matches(scope)

    return PageRoute("/", page)


def notice(status: int, html: str) -> Response:
    """Return the notice in the page's place; while the page loads, look again in a second."""
    again = '<meta http-equiv="refresh" content="1">' if status == 503 else ""
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>moonlynx</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<meta name="color-scheme" content="light dark">{again}'
        f'<body style="font-family:system-ui,sans-serif;margin:2rem"><h1>moonlynx</h1>{html}',
        status,
    )
