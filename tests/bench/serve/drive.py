"""Concurrent clients that send one request after the other, and what they saw."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import inf

import httpx

from .servers import Running

_PATIENCE = 600.0  # seconds that a client waits for an answer
_TELL_EVERY = 1.0


@dataclass
class Seen:
    """What clients saw.

    Attributes:
        latencies: seconds of each answered request, in the order of the answers.
        statuses: answers by HTTP status; 0: there was none.
        wall: seconds from the first request to the last answer.
        own: share of a core that the clients themselves took.
    """

    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    wall: float = 0.0
    own: float = 0.0

    @property
    def requests(self) -> int:
        """Return the number of requests."""
        return sum(self.statuses.values())


def drive(
    server: Running,
    bodies: Sequence[bytes],
    clients: int,
    *,
    seconds: float = inf,
    requests: float = inf,
    on_second: Callable[[int], None] = lambda _requests: None,
) -> Seen:
    """Send requests until the time is up or all are sent; none is broken off.

    Args:
        server: that they ask.
        bodies: sent in turns.
        clients: at once; each sends its next request when it has its answer.
        seconds: after which no further request is sent.
        requests: to send; give this or `seconds`.
        on_second: called each second with the requests answered so far.
    """
    seen, sent = Seen(), count()
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    headers = {"Content-Type": "application/json"}

    async def one_client(http: httpx.AsyncClient, end: float) -> None:
        while time.perf_counter() < end and (number := next(sent)) < requests:
            asked = time.perf_counter()
            try:
                reply = await http.post(server.path, content=bodies[number % len(bodies)])
            except httpx.HTTPError:
                seen.statuses[0] += 1
            else:
                seen.statuses[reply.status_code] += 1
                seen.latencies.append(time.perf_counter() - asked)

    async def tell() -> None:
        while True:
            await asyncio.sleep(_TELL_EVERY)
            on_second(seen.requests)

    async def all_clients() -> None:
        async with httpx.AsyncClient(
            base_url=server.address, headers=headers, limits=limits, timeout=_PATIENCE
        ) as http:
            started, busy = time.perf_counter(), time.process_time()
            telling = asyncio.create_task(tell())
            await asyncio.gather(*(one_client(http, started + seconds) for _ in range(clients)))
            telling.cancel()
        seen.wall = time.perf_counter() - started
        seen.own = (time.process_time() - busy) / seen.wall

    asyncio.run(all_clients())
    return seen
