"""The web application that rows are labelled in: its addresses, and what it refuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import MoonlynxError

from ..records import QARow
from .forms import Form
from .pages import Pages
from .store import Store

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_HERE = Path(__file__).parent
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def create_app(rows: Sequence[QARow], store: Store, hosts: Sequence[str]) -> Starlette:
    """Create the application.

    Args:
        rows: to label, at least one.
        store: of their file.
        hosts: names and addresses that the page is asked for by. Any other is refused, so that no
            site can have its own name lead here (DNS rebinding).

    Raises:
        MissingExtra: the packages of the extra are not installed.
    """
    try:
        import python_multipart  # noqa: F401 (it would be missed only when a form is sent)
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.base import BaseHTTPMiddleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.routing import Mount, Route
        from starlette.staticfiles import StaticFiles
        from starlette.templating import Jinja2Templates
    except ImportError:
        raise MissingExtra("The page for annotators", "annotate") from None

    def save_at(path: str, save: Callable[[Request, Form], Response], name: str) -> Route:
        return Route(path, _read_then(save), methods=["POST"], name=name)

    pages = Pages(rows, store, Jinja2Templates(_HERE / "templates"))
    row = "/annotators/{annotator}/rows/{number:int}"
    return Starlette(
        routes=[
            Route("/", pages.start, name="start"),
            save_at("/annotators", pages.enter, "enter"),
            Route("/annotators/{annotator}", pages.resume, name="resume"),
            Route(row, pages.row, name="row"),
            save_at(f"{row}/labels", pages.save_labels, "save_labels"),
            save_at(f"{row}/checks", pages.save_checks, "save_checks"),
            Mount("/static", StaticFiles(directory=_HERE / "static"), name="static"),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
            Middleware(BaseHTTPMiddleware, dispatch=_guard),
        ],
        exception_handlers={MoonlynxError: pages.refuse, 404: pages.refuse},
    )


def _read_then(
    save: Callable[[Request, Form], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Read the form, then save it in a thread, as pages are rendered."""
    from starlette.concurrency import run_in_threadpool

    async def endpoint(request: Request) -> Response:
        async with request.form() as form:
            return await run_in_threadpool(save, request, form)

    return endpoint


async def _guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    """Refuse forms sent from other sites: every browser names the origin of a form."""
    from starlette.responses import PlainTextResponse

    _, _, origin = request.headers.get("origin", "").partition("://")
    if request.method == "POST" and origin != request.headers["host"]:
        response: Response = PlainTextResponse("This form was sent from another site.\n", 403)
    else:
        response = await call_next(request)
    response.headers.update(_HEADERS)
    return response
