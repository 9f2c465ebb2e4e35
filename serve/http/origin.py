"""Which names the server answers to, and whose pages may ask it.

A page of any site can make its reader's browser send requests here. Across sites the browser names
the page's own in the header Origin. A site that lets its name lead here (DNS rebinding) is asked
under that name, which is in the header Host.
"""

import ipaddress
import re
from collections.abc import Sequence
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from moonlynx.judge.contract.types import BadInput

from .errors import error_response

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY = "*"
_PLACE = re.compile(r"(?:(https?)://)?(?:\[([^][/@]+)\]|([^][/@:]+))(?::(\d{1,5}))?")
_PORTS = {"http": "80", "https": "443"}
_POLICY_VIOLATION = 1008  # WebSocket's code


class _Place(NamedTuple):
    """A Host, or an Origin, in parts."""

    scheme: str | None
    name: str
    port: str | None


def read_hosts(hosts: Sequence[str]) -> frozenset[str]:
    """Return the server's names: those given, and this machine's own.

    Raises:
        BadInput: one is no name, as it holds a path.
    """
    names = [*LOOPBACK]
    for host in hosts:
        place = _read(host)
        if place is None or place.scheme is not None:
            message = f"{host!r} is not a host name; write judge.example.org, *.example.org or *"
            raise BadInput("bad_input", "--allowed-host", message)
        names.append(place.name)
    return frozenset(names)


def read_origins(origins: Sequence[str]) -> frozenset[str]:
    """Return sites as browsers name them.

    Raises:
        BadInput: one is no site, as it has no scheme.
    """
    sites = [origin.rstrip("/").lower() for origin in origins]
    for site in sites:
        place = _read(site)
        if site != ANY and (place is None or place.scheme is None):
            message = f"{site!r} is not an origin; write https://example.org, or * for any"
            raise BadInput("bad_input", "--allowed-origin", message)
    return frozenset(sites)


class CheckOrigin:
    """Refuses requests under a name that is not the server's, and those of other sites' pages.

    Args:
        app: the wrapped application.
        hosts: names of the server; `*.example.org` is every name below one, `*` any at all.
        origins: other sites whose pages are let in; `*` any at all.
        exposed: the server is reached from other machines. Then an address, or a name without a
            dot, is taken too: no one can make such a name lead here by a DNS of their own.
    """

    def __init__(
        self, app: ASGIApp, hosts: frozenset[str], origins: frozenset[str], *, exposed: bool
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._domains = tuple(host[1:] for host in hosts if host.startswith("*."))
        self._origins = origins
        self._exposed = exposed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        refused = None if scope["type"] == "lifespan" else self._refusal(scope)
        if refused is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        else:
            await refused(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        hosts, origins = (_values(scope, name) for name in (b"host", b"origin"))
        host = _read(hosts[0]) if len(hosts) == 1 else None
        if host is None or host.scheme is not None or not self._is_own(host.name):
            message = (
                "is not a name of this server; if it should be, start it with --allowed-host NAME"
            )
            return error_response(421, f"Host: {', '.join(hosts)!r} {message}", param="Host")
        for origin in origins:
            if not self._is_let_in(origin, host):
                message = "is another site; start the server with --allowed-origin to allow it"
                return error_response(403, f"Origin: {origin!r} {message}", param="Origin")
        return None

    def _is_own(self, name: str) -> bool:
        if not self._hosts.isdisjoint((name, ANY)) or name.endswith(self._domains):
            return True
        return self._exposed and ("." not in name or _is_address(name))

    def _is_let_in(self, site: str, host: _Place) -> bool:
        if not self._origins.isdisjoint((site, ANY)):
            return True
        origin = _read(site)
        if origin is None or origin.scheme is None:
            return False
        # Behind a proxy that ends TLS, only the browser knows the scheme.
        usual = _PORTS[origin.scheme]
        return (origin.name, origin.port or usual) == (host.name, host.port or usual)


def _values(scope: Scope, header: bytes) -> list[str]:
    return [value.decode("latin-1").lower() for name, value in scope["headers"] if name == header]


def _read(text: str) -> _Place | None:
    found = _PLACE.fullmatch(text.lower())
    if found is None:
        return None
    scheme, address, name, port = found.groups()
    return _Place(scheme, address or name.removesuffix("."), port)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
