"""The server on Ray Serve: gateways, which take requests, before replicas of the judge.

`serve deploy serve.yaml` runs it, from the file beside this one, which names `build`.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import Field, ValidationError

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import unscored
from moonlynx.judge.contract.types import BadInput, Example, JudgeInfo, Record, Verdict, first_fault
from moonlynx.judge.registry import DEFAULT_JUDGE, load_judge

from ..app import create_app
from ..http.middleware import read_keys
from ..queue.batching import Batching
from ..queue.turns import characters
from ..service import Settings
from ..tracing import open_tracing

_TRIES = 3  # of a row whose replica was lost
_log = logging.getLogger("moonlynx.serve")

AtLeastOne = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]


class Arguments(Record):
    """What `args:` of the application may hold: as the options of `moonlynx serve`.

    `queue` is of each gateway. `hosts` are names besides addresses and names without a dot.
    """

    judge: str = DEFAULT_JUDGE
    timeout: Seconds = 30.0
    max_body: AtLeastOne = 8 << 20
    queue: AtLeastOne = 1_024
    batch_characters: AtLeastOne = 32_000
    batch_wait: Seconds = 0.003
    keys: Path | None = None
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


def build(args: Mapping[str, Any]) -> Any:
    """Return the application that Ray Serve runs."""
    try:
        from ray import serve
    except ImportError:
        raise MissingExtra("Serving on Ray", "ray") from None
    try:
        arguments = Arguments.model_validate(dict(args))
    except ValidationError as error:
        field, message = first_fault(error, "all of them")
        raise BadInput("bad_input", f"args, {field}", message) from None
    judge = serve.deployment(Replica, name="Judge").bind(
        arguments.judge, arguments.batch_characters, arguments.batch_wait
    )
    return serve.deployment(serve.ingress()(Gateway), name="Gateway").bind(judge, arguments)


class Replica:
    """A replica of the judge. Rows that come in together, from any client, are judged together."""

    def __init__(self, judge_name: str, budget: int, wait: float) -> None:
        from ray import serve

        self._judge = load_judge(judge_name)

        def size(examples: Sequence[Example]) -> int:
            # A row over the budget goes alone; Ray Serve would refuse it.
            return sum(min(characters(example), budget) for example in examples)

        batched = serve.batch(max_batch_size=budget, batch_wait_timeout_s=wait, batch_size_fn=size)
        self._batched = batched(self._judge_all)

    def info(self) -> JudgeInfo:
        """Return the judge's info."""
        return self._judge.info

    async def __call__(self, example: Example) -> Verdict:
        """Judge one example, together with others."""
        verdict: Verdict = await self._batched(example)
        return verdict

    async def _judge_all(self, examples: list[Example]) -> list[Verdict]:
        """Judge a batch; where that fails, each row alone: a row's fault is not its neighbours'."""
        try:
            return await asyncio.to_thread(self._judge, examples)
        except Exception as error:
            _log.error("%s failed: %s", self._judge.info.name, type(error).__name__)
            if len(examples) > 1:
                return [verdict for one in examples for verdict in await self._judge_all([one])]
            # The message of a fault may hold the judged text.
            message = f"the judge failed: {type(error).__name__}"
            return [unscored(self._judge.info, examples[0].id, "backend", message)]


class RemoteJudge:
    """The replicas as one judge. A row whose replica is lost goes to another."""

    def __init__(self, handle: Any, info: JudgeInfo) -> None:
        self.info = info
        self._handle = handle

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples, each where there is room."""
        return [response.result() for response in map(self._handle.remote, examples)]

    async def acall(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples without blocking the event loop."""
        return list(await asyncio.gather(*map(self._ask, examples)))

    async def _ask(self, example: Example) -> Verdict:
        from ray.exceptions import RayActorError

        verdict: Verdict
        for _ in range(_TRIES - 1):
            with suppress(RayActorError):
                verdict = await self._handle.remote(example)
                return verdict
        verdict = await self._handle.remote(example)
        return verdict


class Gateway:
    """The web application of `moonlynx serve`, its judge being the replicas."""

    def __init__(self, judge: Any, arguments: Arguments) -> None:
        self._judge = judge
        self._arguments = arguments

    async def __serve_build_asgi_app__(self) -> FastAPI:
        """Create the application; Ray Serve calls this once the replica is in its event loop."""
        arguments = self._arguments
        judge = RemoteJudge(self._judge, await self._judge.info.remote())
        settings = Settings(
            # Rows wait with the replicas, one call each: there Ray Serve sees and scales by them.
            batching=Batching(characters=1, parallel=arguments.queue, queue=arguments.queue),
            timeout=arguments.timeout,
            max_body=arguments.max_body,
            keys=read_keys(arguments.keys) if arguments.keys else (),
            origins=arguments.origins,
            hosts=arguments.hosts,
            exposed=True,  # Ray's proxies listen, and do not say where
        )
        return create_app(judge, settings, open_tracing())
