"""The way to the page where the server has keys: a form, and a cookie that opens the page alone."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Sequence
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from ..http.middleware import is_known
from .front import GUARDED, is_page, notice

LOGIN = "/login"
LARGEST = 4_096  # bytes of a form
_SECONDS = 12 * 3_600  # that a session lasts
_FORM = """
<form method="post" action="/login">
<p><label for="key">API key</label><br><input id="key" name="key" type="password" required autofocus
 autocomplete="current-password" style="font:inherit;width:20rem;max-width:100%"></p>
<p><button style="font:inherit">Open the page</button></p>
</form>
"""


class Login:
    """Opens sessions for known keys. The cookie is signed, and worth nothing to another server."""

    def __init__(self, hashes: Sequence[bytes]) -> None:
        self._hashes = hashes
        self._secret = secrets.token_bytes(32)
        # Servers at other ports of this host share the browser's cookies.
        self._cookie = f"moonlynx-{secrets.token_hex(4)}"

    def admits(self, scope: Scope) -> bool:
        """Return whether a request is for the form, or for the page and from an open session."""
        path = scope["path"]
        cookie = HTTPConnection(scope).cookies.get(self._cookie, "")
        return path == LOGIN or (is_page(path) and self._is_open(cookie))

    def form(self, fault: str = "") -> Response:
        """Return the form, with what was wrong before."""
        alert = f'<p role="alert">{fault}</p>' if fault else ""
        answer = notice(401, alert + _FORM)
        answer.headers.update(GUARDED)
        answer.headers["cache-control"] = "no-store"
        return answer

    def routes(self) -> APIRouter:
        """Return the routes that the form leads to."""
        router = APIRouter(include_in_schema=False)

        async def enter(request: Request) -> Response:
            if request.method != "POST":
                return RedirectResponse("/", 303)
            form = parse_qs((await request.body()).decode(errors="replace"))
            if not is_known(form.get("key", [""])[0].strip().encode(), self._hashes):
                return self.form("Unknown key; check it and try again.")
            answer = RedirectResponse("/", 303)
            answer.set_cookie(
                self._cookie,
                self._open(),
                max_age=_SECONDS,
                secure=request.url.scheme == "https",
                httponly=True,
                samesite="strict",
            )
            return answer

        router.add_route(LOGIN, enter, ["GET", "POST"])
        return router

    def _open(self) -> str:
        session = f"{int(time.time()) + _SECONDS}-{secrets.token_hex(16)}"
        return f"{session}-{self._sign(session)}"

    def _is_open(self, cookie: str) -> bool:
        session, _, signature = cookie.rpartition("-")
        genuine = hmac.compare_digest(signature.encode(), self._sign(session).encode())
        return genuine and int(session.partition("-")[0]) > time.time()

    def _sign(self, session: str) -> str:
        return hmac.digest(self._secret, session.encode(), hashlib.sha256).hex()
