"""vLLM as a child process: started, waited for, warmed up, watched, and ended with all it started.

The gateway listens meanwhile. Rows that come before vLLM is ready wait in its queue; once vLLM is
gone, they get unscored verdicts with the code `backend`, as of any endpoint that is not there.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

import httpx

from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.schemas import load_schema
from moonlynx.judge.contract.steps import Ask, answer
from moonlynx.judge.contract.types import (
    Example,
    MetricInput,
    MetricVerdict,
    MoonlynxError,
    Turn,
    Verdict,
)
from moonlynx.judge.contract.visible import visible
from moonlynx.judge.metrics.metric import Metric

from .checks import check, require
from .deployment import Deployment

START_LIMIT = 1_800.0  # seconds; 140 GB of weights come from the Hub in that
GRACE = 20  # seconds between being asked to end and being ended
_PAUSE = 0.2  # seconds between two looks
_DRAIN = 2.0  # seconds for what an ended vLLM has left to be read
_LAST_LINES = 15  # of vLLM's log, in the error when it fails
_WARM_UP_LIMIT = 300  # seconds for one call: the first may compile
# Holds the other end of a pipe. It is closed when this process ends, by SIGKILL too; then vLLM is
# ended by the group of its processes, $1: asked to, and after $2 seconds made to.
_LEASH = """
read -r _
kill -s TERM -- "-$1"
while [ "$2" -gt 0 ] && kill -s 0 -- "-$1"; do sleep 1; set -- "$1" $(($2 - 1)); done
kill -s KILL -- "-$1"
"""


class EngineError(MoonlynxError, RuntimeError):
    """VLLM did not come up; holds the last lines that it said."""


class Engine:
    """A vLLM server of one deployment, for as long as the context lasts."""

    def __init__(self, deployment: Deployment, *, start_limit: float = START_LIMIT) -> None:
        """Set up; nothing is started before the context is entered."""
        self.deployment = deployment
        self.failure: EngineError | None = None
        self._start_limit = start_limit
        self._said: deque[str] = deque(maxlen=_LAST_LINES)
        self._ready = threading.Event()
        self._settled = threading.Event()
        self._ending = threading.Event()
        self._over: Callable[[], bool] = self._ending.is_set
        self._threads: list[threading.Thread] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._leash: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start vLLM; it is not ready yet."""
        require(check(self.deployment))
        self._process = subprocess.Popen(  # noqa: S603 (a command of ours)
            self.deployment.command(sys.executable),
            env=os.environ | {"VLLM_NO_USAGE_STATS": "1", "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A group of its own: Ctrl-C ends the gateway first, and all of vLLM's processes can be
            # ended at once.
            start_new_session=True,
        )
        self._leash = subprocess.Popen(  # noqa: S603
            ("/bin/sh", "-c", _LEASH, "leash", str(self._process.pid), str(GRACE)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._run(self._pass_on_log)
        return self

    def __exit__(self, *_: object) -> None:
        """End vLLM: it is asked to, and after a while made to."""
        self._ending.set()
        process, leash = self._process, self._leash
        assert process is not None
        assert leash is not None
        try:
            with suppress(subprocess.TimeoutExpired):
                process.terminate()
                process.wait(GRACE)
        finally:  # a second Ctrl-C is no reason to leave it behind
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            leash.kill()
            leash.communicate()
        for thread in self._threads:
            # What vLLM put into a session of its own may hold the log open.
            thread.join(_DRAIN)

    def bring_up(self, on_failure: Callable[[], None], over: Callable[[], bool]) -> None:
        """Wait in a thread until vLLM is ready, and warm it up.

        Where it does not come up, call `on_failure` there; once it is `over`, end it at once.
        """
        self._over = lambda: self._ending.is_set() or over()

        def run() -> None:
            try:
                if self._wait():
                    self._warm_up()
                    self._ready.set()
            except EngineError as error:
                if not self._over():
                    self.failure = error
                    on_failure()
            finally:
                self._settled.set()

        self._run(run)

    @property
    def settled(self) -> bool:
        """Return whether vLLM is up or will not come up, so that there is nothing to wait for."""
        return self._settled.is_set() or self._over()

    def fault(self) -> str | None:
        """Return why vLLM cannot be asked now; None if it can."""
        if (ended := self._ended()) is not None:
            return ended
        return None if self._ready.is_set() else "vLLM is starting"

    def _run(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _pass_on_log(self) -> None:
        """Write what vLLM says to standard error, and keep the last lines."""
        assert self._process is not None
        assert self._process.stdout is not None
        with self._process.stdout as log:
            for line in log:
                text = line.decode("utf-8", "replace")
                self._said.append(text.rstrip())
                sys.stderr.write(visible(text.replace("\r", "\n")))
                sys.stderr.flush()

    def _ended(self) -> str | None:
        code = None if self._process is None else self._process.poll()
        if code is None:
            return None
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"vLLM has ended ({how})"

    def _wait(self) -> bool:
        """Wait until vLLM says that it is healthy; False: it is no longer needed, and ended."""
        health = self.deployment.url.removesuffix("/v1") + "/health"
        deadline = time.monotonic() + self._start_limit
        with httpx.Client(timeout=5.0, trust_env=False) as client:
            while not self._over():
                if (ended := self._ended()) is not None:
                    raise self._error(ended)
                with suppress(httpx.HTTPError):
                    if client.get(health).is_success:
                        return True
                if time.monotonic() > deadline:
                    raise self._error(f"vLLM is not ready after {self._start_limit:g} seconds")
                self._ending.wait(_PAUSE)
        assert self._process is not None
        self._process.terminate()
        return False

    def _warm_up(self) -> None:
        """Ask for JSON under a schema and for logprobs: the first such calls take seconds."""
        options = {"timeout": str(_WARM_UP_LIMIT), "retries": "0"}
        backend = load_chat_backend(self.deployment.url, self.deployment.name, options)
        turn = Turn(role="user", content="Is 2 more than 1?")
        requests = [
            ChatRequest((turn,), schema=load_schema("lynx"), max_tokens=16),
            ChatRequest((turn,), logprobs=True, max_tokens=2),
        ]
        for reply in backend.complete(requests):
            if reply.error is not None:
                raise self._error(f"vLLM is up, but does not answer: {reply.error.message}")

    def _error(self, what: str) -> EngineError:
        said = "\n  ".join(self._said)
        return EngineError(f"{what}; its last lines:\n  {said}")


class WaitingJudge:
    """A judge that asks an engine: rows wait until it is known whether vLLM comes up."""

    def __init__(self, judge: Judge, engine: Engine) -> None:
        self.info = judge.info
        self._judge = judge
        self._engine = engine

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        return asyncio.run(self.acall(examples))

    async def acall(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples without blocking the event loop."""
        while not self._engine.settled:
            await asyncio.sleep(_PAUSE)
        return await answer(Ask(self._judge, examples))


class WaitingMetric:
    """A metric that asks an engine."""

    def __init__(self, metric: Metric, engine: Engine) -> None:
        self.info = metric.info
        self.definition = metric.definition
        self.thresholds = metric.thresholds
        self.calibrated = metric.calibrated
        self.spans = getattr(metric, "spans", False)
        self._metric = metric
        self._engine = engine

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs."""
        while not self._engine.settled:
            time.sleep(_PAUSE)
        return self._metric(inputs)
