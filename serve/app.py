"""The web application: the routes, the middleware around them, and the life of the queue."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from types import MappingProxyType

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

import moonlynx
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.metrics.metric import Metric

from .guardrails import GuardPolicy, Guardrails
from .http.errors import answer_errors
from .http.middleware import Limit, LimitBody, Observe, RequireKey
from .http.origin import CheckOrigin, read_hosts, read_origins
from .page.front import FILES, JUDGING, Page, route_of
from .page.login import LARGEST, LOGIN, Login
from .queue.jobs import Jobs
from .routes import (
    batch_files,
    completions,
    feedback,
    guard,
    guarded,
    guardrails,
    health,
    measuring,
    verdict,
)
from .routes.upstream import Upstream
from .service import Service, Settings
from .tracing import Tracing

_FILE = 1 << 30  # bytes of a batch file
_FILE_SECONDS = 3_600.0  # in which it must arrive


def create_app(
    judge: Judge,
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    tracing: Tracing | None = None,
    compare: Mapping[str, Settings] | None = None,
    metrics: Mapping[str, Metric] = MappingProxyType({}),
    policy: GuardPolicy | None = None,
) -> FastAPI:
    """Create the application.

    `compare` names the page's other judges, None: there is no page. A policy's metrics are among
    `metrics`.
    """
    service = Service(judge, settings, tracing)
    jobs = Jobs(settings.jobs, service) if settings.jobs else None
    page = Page(service, compare) if compare is not None else None
    tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tasks.append(asyncio.create_task(service.batcher.run()))
        files = asyncio.create_task(jobs.run()) if jobs else None
        showing = asyncio.create_task(page.run()) if page else None
        if service.audit:
            service.audit.start()
        yield
        # By now every request has its answer.
        if jobs and files:
            jobs.stop()
            await files
        if showing:
            await _cancel(showing)
        await _cancel(tasks.pop())
        if service.audit:
            await asyncio.to_thread(service.audit.close)
        if tracing:
            await asyncio.to_thread(tracing.close)

    app = FastAPI(
        title="moonlynx",
        summary="Is this answer supported by the documents it was given?",
        version=moonlynx.__version__,
        lifespan=lifespan,
        docs_url=None,  # their pages ask other hosts for scripts
        redoc_url=None,
    )
    answer_errors(app)
    _add_routes(app, service, jobs, lambda: any(not task.done() for task in tasks))
    if metrics:
        measured = measuring.MetricService(metrics, service)
        app.include_router(measuring.routes(measured))
        if policy is not None:
            guarding = Guardrails(policy, metrics)
            app.include_router(guardrails.routes(measured, guarding))
    _surround(app, service, _add_page(app, page, settings) if page else None)
    return app


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _add_routes(
    app: FastAPI, service: Service, jobs: Jobs | None, ready: Callable[[], bool]
) -> None:
    app.include_router(verdict.routes(service))
    app.include_router(completions.routes(service))
    app.include_router(guard.routes(service))
    app.include_router(health.routes(service, ready))
    if jobs:
        app.include_router(batch_files.routes(jobs))
    if service.audit:
        app.include_router(feedback.routes(service.audit, service.settings.timeout))
    if service.settings.upstream:
        upstream = Upstream(service.settings.upstream, service.settings.timeout)
        app.include_router(guarded.routes(service, upstream))


def _add_page(app: FastAPI, page: Page, settings: Settings) -> Login | None:
    """Add the page's route, and where there are keys the login that leads to it."""
    login = Login(settings.keys) if settings.keys else None
    if login:
        app.include_router(login.routes())
    app.routes.append(route_of(page))
    return login


def _surround(app: FastAPI, service: Service, login: Login | None) -> None:
    """Wrap checks, limits and counts around the routes; the last one added is the outermost."""
    settings = service.settings
    others = {
        batch_files.PATH: Limit(_FILE, _FILE_SECONDS, batch_files.KINDS),
        # The page says itself what is too much, where it gets to see it.
        JUDGING: Limit(2 * settings.max_body, settings.timeout),
        FILES: Limit(settings.max_body, settings.timeout, batch_files.KINDS),
        LOGIN: Limit(LARGEST, settings.timeout, ("application/x-www-form-urlencoded",)),
    }
    hosts, origins = read_hosts(settings.hosts), read_origins(settings.origins)
    app.add_middleware(LimitBody, Limit(settings.max_body, settings.timeout), others)
    if settings.keys:
        app.add_middleware(RequireKey, settings.keys, login)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
        )
    app.add_middleware(CheckOrigin, hosts, origins, exposed=settings.exposed)
    app.add_middleware(Observe, service.counters)
