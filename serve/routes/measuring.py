"""`POST /v1/metrics/{name}`: a MetricInput in, a MetricVerdict out, or a list of each.

`POST /v1/metrics`: `inputs` and `metrics` in, for each input a list of verdicts out, a metric each.

A metric has its own name, `tone`, and the one that it was requested by, `luna2:tone`. An input that
cannot be read is refused with 422; in a list it becomes a verdict with an error, in its place.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi import Body as FromBody
from pydantic import Field, PlainValidator

from moonlynx.judge.batch.metrics import MetricRow, measure_rows, outcome, read_input
from moonlynx.judge.contract.types import (
    BadInput,
    JudgeError,
    MetricInput,
    MetricVerdict,
    MoonlynxError,
    Record,
    Text,
    wrong,
)
from moonlynx.judge.contract.visible import visible
from moonlynx.judge.metrics.metric import Metric

from ..http.errors import responses, strict_router
from ..queue.batching import QueueFull
from ..service import Service

PATH = "/v1/metrics"
_PAUSE = 1  # seconds that a client is asked to wait
_log = logging.getLogger("moonlynx.serve")


def _read_body(body: Any) -> MetricInput | list[MetricRow]:
    if isinstance(body, list):
        return [_read_row(value) for value in body]
    return read_input(body)


def _read_rows(value: Any) -> tuple[MetricRow, ...]:
    if not isinstance(value, dict | list):
        raise wrong("must be an object, or a list of them")
    return tuple(map(_read_row, value if isinstance(value, list) else [value]))


def _read_row(value: Any) -> MetricRow:
    try:
        return read_input(value)
    except BadInput as error:
        return error


Body = Annotated[
    MetricInput | list[MetricRow],
    # A list's rows may be anything: what is no input gets its own error.
    PlainValidator(_read_body, json_schema_input_type=dict[str, Any] | list[Any]),
]


class Asked(Record):
    """Inputs, and the metrics to judge them by: all that are served, unless named."""

    inputs: Annotated[
        tuple[MetricRow, ...],
        PlainValidator(_read_rows, json_schema_input_type=dict[str, Any] | list[Any]),
    ]
    metrics: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None


class MetricService:
    """The metrics of a server: each takes one request at a time, in the order they came."""

    def __init__(self, metrics: Mapping[str, Metric], service: Service) -> None:
        self._workers = {
            metric.definition.name: (metric, ThreadPoolExecutor(1)) for metric in metrics.values()
        }
        self._own = {
            name: own
            for asked, metric in metrics.items()
            for own in [metric.definition.name]
            for name in (asked, metric.info.name, own)
        }
        self._service = service
        self._waiting = 0

    @property
    def names(self) -> list[str]:
        """Return the metrics' names."""
        return list(self._workers)

    async def measure(
        self, request: Request, name: str, rows: Sequence[MetricRow]
    ) -> list[MetricVerdict]:
        """Judge the rows of a request."""
        own = self._own.get(name)
        if own is None:
            served = ", ".join(self._workers)
            raise HTTPException(404, f"no metric {name!r} is served; there are: {served}")
        most = self._service.settings.batching.queue
        if len(rows) > most:
            raise HTTPException(413, f"{len(rows)} rows; send at most {most} at once")
        if self._waiting + len(rows) > most:
            raise QueueFull(self._waiting, _PAUSE)
        verdicts = await self._service.finish(request, asyncio.ensure_future(self._run(own, rows)))
        for verdict in verdicts:
            self._service.counters.on_metric(verdict.metric, outcome(verdict))
        return verdicts

    async def _run(self, name: str, rows: Sequence[MetricRow]) -> list[MetricVerdict]:
        metric, worker = self._workers[name]
        self._waiting += len(rows)
        try:
            return await asyncio.get_running_loop().run_in_executor(
                worker, measure_rows, metric, rows
            )
        except Exception as error:
            # The message of an internal error may hold the judged text; of a known error not.
            why = str(error) if isinstance(error, MoonlynxError) else type(error).__name__
            _log.error("%s failed: %s", metric.info.name, visible(why, lines=False))
            failed = JudgeError(code="backend", message=f"the metric failed: {why}")
            return [MetricVerdict(metric=name, error=failed) for _ in rows]
        finally:
            self._waiting -= len(rows)


def routes(metrics: MetricService) -> APIRouter:
    """Return the routes."""
    router = strict_router()

    @router.get(PATH, summary="Which metrics are served?")
    async def served() -> list[str]:
        return metrics.names

    @router.post(
        PATH,
        response_model=list[list[MetricVerdict]],
        responses=responses(404, 422, 429, 504),
        summary="Judge inputs by several metrics",
    )
    async def measure_all(request: Request, body: Asked) -> Response:
        names = metrics.names if body.metrics is None else body.metrics
        found = [await metrics.measure(request, name, body.inputs) for name in names]
        lines = [[one.model_dump_json() for one in each] for each in zip(*found, strict=True)]
        content = ",".join(f"[{','.join(line)}]" for line in lines)
        return Response(f"[{content}]", media_type="application/json")

    @router.post(
        PATH + "/{name:path}",  # a head's may be that of its folder
        response_model=MetricVerdict | list[MetricVerdict],
        responses=responses(404, 422, 429, 504),
        summary="Judge inputs by a metric",
    )
    async def measure(request: Request, name: str, body: Annotated[Body, FromBody()]) -> Response:
        alone = isinstance(body, MetricInput)
        rows = [body] if isinstance(body, MetricInput) else body
        found = [
            verdict.model_dump_json() for verdict in await metrics.measure(request, name, rows)
        ]
        content = found[0] if alone else f"[{','.join(found)}]"
        return Response(content, media_type="application/json")

    return router
