"""Judges and metrics that ask an engine: rows wait until it is known whether vLLM comes up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from moonlynx.judge.contract.base import AsyncJudge, Judge
from moonlynx.judge.contract.types import Example, MetricInput, MetricVerdict, Verdict
from moonlynx.judge.metrics.metric import Metric

from .engine import Engine

_PAUSE = 0.2  # seconds between two looks


class WaitingJudge:
    """A judge that asks an engine."""

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
        if isinstance(self._judge, AsyncJudge):
            return await self._judge.acall(examples)
        return await asyncio.to_thread(self._judge, examples)


class WaitingMetric:
    """A metric that asks an engine."""

    def __init__(self, metric: Metric, engine: Engine) -> None:
        self.info = metric.info
        self.definition = metric.definition
        self.thresholds = metric.thresholds
        self.calibrated = metric.calibrated
        self._metric = metric
        self._engine = engine

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs."""
        while not self._engine.settled:
            time.sleep(_PAUSE)
        return self._metric(inputs)
