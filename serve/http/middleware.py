"""Middleware around the routes: counters, keys and the size of a body. Plain ASGI."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.contract.visible import visible

from ..counters import Counters
from .errors import error_response

if TYPE_CHECKING:
    from ..page.login import Login

OPEN_ROUTES = ("/healthz", "/readyz")
# Each has counters of its own; a client may make up any number of others.
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_log = logging.getLogger("moonlynx.serve")


class Observe:
    """Counts requests and their time, and answers an internal error without quoting texts."""

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        self._app = app
        self._counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def count_and_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                taken = 1000 * (time.perf_counter() - started)
                timing = (b"server-timing", f"total;dur={taken:.1f}".encode())
                message["headers"] = [*message.get("headers", ()), timing]
            await send(message)

        try:
            await self._app(scope, receive, count_and_send)
        except Exception as error:
            # Its message may hold judged text, so only its kind and place are logged.
            where = "".join(traceback.format_tb(error.__traceback__))
            path = visible(scope["path"], lines=False)
            _log.error("%s in %s\n%s", type(error).__name__, path, where)
            if status:
                raise ConnectionError from None  # a half-sent answer must not look like a whole one
            message = "internal error; the server's log says where"
            await error_response(500, message)(scope, receive, count_and_send)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            seconds = time.perf_counter() - started
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._counters.on_request(method, route, status or 499, seconds)


class RequireKey:
    """Passes only requests with `Authorization: Bearer KEY` and a known key."""

    def __init__(self, app: ASGIApp, hashes: Sequence[bytes], login: Login | None = None) -> None:
        self._app = app
        self._hashes = hashes
        self._login = login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        answer = self._refusal(scope) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        given = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, key = given.partition(b" ")
        if scope["path"] in OPEN_ROUTES or (
            scheme.lower() == b"bearer" and is_known(key.strip(), self._hashes)
        ):
            return None
        if self._login is not None:
            if self._login.admits(scope):
                return None
            if scope["path"] == "/":
                return self._login.form()
        message = "send a known key, as in the header Authorization: Bearer KEY"
        return error_response(401, message, headers={"WWW-Authenticate": "Bearer"})


def is_known(key: bytes, hashes: Sequence[bytes]) -> bool:
    """Return whether a key is one of those hashed, in a time that does not tell which."""
    found = hashlib.sha256(key).hexdigest().encode()
    fits = [hmac.compare_digest(found, one) for one in hashes]
    return any(fits)


def read_keys(path: Path) -> tuple[bytes, ...]:
    """Read the SHA-256 hashes of API keys: the first word of each line, as `sha256sum` writes it.

    Keys must be long and random; a password would be guessed from its hash.

    Raises:
        BadInput: a line does not begin with such a hash, or there is none.
        OSError: the file cannot be read.
    """
    hashes = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        word = line.split()[0].lower()
        if len(word) != 64 or set(word) - set("0123456789abcdef"):
            message = "must begin with the key's SHA-256: printf %s KEY | sha256sum"
            raise BadInput("bad_input", f"{path}, line {number}", message)
        hashes.append(word.encode())
    if not hashes:
        raise BadInput("bad_input", str(path), "holds no key; add one: printf %s KEY | sha256sum")
    return tuple(hashes)


class Limit(NamedTuple):
    """What a body may be: its bytes, the seconds in which it has to be in, and its media types."""

    size: int
    seconds: float
    kinds: tuple[str, ...] = ("application/json",)


class LimitBody:
    """Refuses bodies of another kind, over a limit (announced, or while they come in), or slow.

    A browser lets the page of any site send forms and plain text, and asks first for other kinds.
    """

    def __init__(self, app: ASGIApp, limit: Limit, others: Mapping[str, Limit]) -> None:
        self._app = app
        self._limit = limit
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most, seconds, kinds = self._others.get(scope["path"], self._limit)
        too_large = f"the body is over {most:,} bytes; send fewer or shorter rows at once"
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        refused = _other_kind(scope, kinds)
        if announced.isdigit() and int(announced) > most:
            refused = error_response(413, too_large)
        if refused is not None:
            # The client may read an answer only once it has sent all.
            await _discard(receive, seconds)
            await refused(scope, receive, send)
            return
        left, more = most, True
        due = asyncio.get_running_loop().time() + seconds

        async def receive_within_limits() -> Message:
            nonlocal left, more
            try:
                async with asyncio.timeout_at(due if more else None):
                    message = await receive()
            except TimeoutError:
                slow = f"the body did not arrive within {seconds:g} seconds"
                raise HTTPException(408, slow) from None
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)
            if left < 0:
                raise HTTPException(413, too_large)
            return message

        await self._app(scope, receive_within_limits, send)


def _other_kind(scope: Scope, kinds: Sequence[str]) -> Response | None:
    """Return the refusal of a body that is not of these media types; None where there is none."""
    headers = dict(scope["headers"])
    if scope["method"] in ("GET", "HEAD") or not (
        headers.get(b"content-length", b"0").strip(b"0") or b"transfer-encoding" in headers
    ):
        return None
    given = [value for name, value in scope["headers"] if name == b"content-type"]
    if len(given) == 1:
        kind = given[0].partition(b";")[0].strip().lower().decode("latin-1")
        if kind in kinds:
            return None
    message = f"Content-Type: send the body as {' or '.join(kinds)}"
    return error_response(415, message, param="Content-Type")


async def _discard(receive: Receive, seconds: float) -> None:
    """Read a body to its end and keep nothing of it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while (await receive()).get("more_body", False):
                pass
