"""Run the server until SIGTERM or Ctrl-C, then drain in-flight requests."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from ipaddress import ip_address

import uvicorn

from moonlynx.judge.batch.metrics import ALL, load_metrics
from moonlynx.judge.contract.spec import CascadeSpec, Spec, parse_spec
from moonlynx.judge.contract.types import ExitCode, MoonlynxError
from moonlynx.judge.metrics.metric import Metric
from moonlynx.judge.registry import load_judge

from .app import create_app
from .guardrails import GuardPolicy
from .service import Settings
from .tracing import open_tracing
from .vllm.choose import metric_of
from .vllm.engine import Engine, WaitingJudge, WaitingMetric

_CONNECTIONS = 4_096  # that may wait to be accepted
_AT_ONCE = 32  # requests at least to a judge behind a network
_LOOK = 1.0  # seconds between two looks whether the server is to end
_LATE = 30.0  # seconds for the end, once no one waits for an answer; vLLM may take 20 of them


class ServeError(MoonlynxError):
    """Nothing can be served at this address."""


def serve(
    spec: Spec,
    host: str,
    port: int,
    settings: Settings,
    tell: Callable[[str], None],
    compare: Sequence[str] = (),
    engine: Engine | None = None,
    metrics: Sequence[str] = (),
    policy: GuardPolicy | None = None,
) -> None:
    """Serve a judge until SIGTERM or Ctrl-C, then drain in-flight requests.

    `tell` is called with the address, once requests are accepted there. The page offers the judges
    `compare` beside it. The engine, if any, is started and ended with the server; the judge asks
    it, and so do the metrics that it has the heads of.

    Raises:
        ServeError: the address cannot be used.
        NotFit, EngineError: the engine cannot be started here, or did not come up.
    """
    name = f"[{host}]" if ":" in host else host
    with closing(_listen(host, port)) as listener:
        exposed = not ip_address(listener.getsockname()[0]).is_loopback
        settings = replace(settings, hosts=(*settings.hosts, name), exposed=exposed)
        settings = replace(_fit(settings, spec), over=lambda: server.should_exit)
        others = {name: _fit(replace(settings, audit=None), parse_spec(name)) for name in compare}
        judge = load_judge(spec)
        names = [*metrics, *(policy.metrics if policy else ())]
        loaded = load_served(
            {name: metric_of(engine.deployment, name) if engine else name for name in names}
        )
        if engine is not None:
            judge = WaitingJudge(judge, engine)
            loaded = {name: WaitingMetric(one, engine) for name, one in loaded.items()}
            settings = replace(settings, fault=engine.fault)
        app = create_app(judge, settings, open_tracing(), others, loaded, policy)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            backlog=_CONNECTIONS,
            timeout_graceful_shutdown=_patience(settings),
        )
        server = uvicorn.Server(config)
        # Before uvicorn listens to signals, and after. An exception in its place could come up
        # where Python only complains of it, and the signal were lost.
        signal.signal(signal.SIGTERM, server.handle_exit)
        with suppress(KeyboardInterrupt), _sure_end(settings), engine or nullcontext():
            if engine is not None:
                engine.bring_up(lambda: setattr(server, "should_exit", True), settings.over)
            tell(f"http://{name}:{listener.getsockname()[1]}")
            server.run(sockets=[listener])
    if engine is not None and engine.failure is not None:
        raise engine.failure


@contextmanager
def _sure_end(settings: Settings) -> Iterator[None]:
    """End the process some time after the signal: a judge's thread may still be busy."""
    ended = threading.Event()

    def watch() -> None:
        while not settings.over():
            if ended.wait(_LOOK):
                return
        if not ended.wait(_patience(settings) + _LATE):
            os._exit(ExitCode.FAULT)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _patience(settings: Settings) -> int:
    """Return the grace period, in seconds, of accepted requests at shutdown."""
    return int(settings.timeout) + 5


def load_served(names: Mapping[str, str]) -> dict[str, Metric]:
    """Load metrics by their names, under those that they were asked for by; `all` has several."""
    loaded: dict[str, Metric] = {}
    for asked, name in names.items():
        if asked in loaded:  # of a policy, beside `all`
            continue
        for metric in load_metrics(name):
            own = metric.definition.name
            if own in (other.definition.name for other in loaded.values()):
                raise ServeError(f"--metric: {own} is given twice; give each metric once")
            loaded[f"luna2:{own}" if name == ALL else asked] = metric
    return loaded


def _fit(settings: Settings, spec: Spec) -> Settings:
    """Return the settings for a judge: where it waits on a network, each row goes alone."""
    if not waits_on_network(spec):
        return settings
    # One slow reply must not hold up others.
    parallel = max(_AT_ONCE, settings.batching.parallel)
    batching = replace(settings.batching, characters=1, parallel=parallel)
    return replace(settings, batching=batching)


def waits_on_network(spec: Spec) -> bool:
    """Return whether a judge, or a stage of it, is asked over a network."""
    if isinstance(spec, CascadeSpec):
        return any(waits_on_network(stage) for stage in spec.stages)
    return spec.over_network


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_CONNECTIONS)
    except (socket.gaierror, UnicodeError):
        raise ServeError(f"--host {host}: there is no such name or address") from None
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ServeError(f"{host}, port {port}: {why}; choose another --host or --port") from None
