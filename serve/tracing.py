"""OpenTelemetry: a span for each judgement, whose verdict is a `gen_ai.evaluation.result` event.

It is an evaluator's span of OpenInference too. It holds scores, codes and counts, never a text.
Off unless the environment says where spans go (OTEL_EXPORTER_OTLP_ENDPOINT).
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import moonlynx
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import Verdict

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class Tracing:
    """Makes spans of verdicts."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("moonlynx", moonlynx.__version__)

    def on_verdict(self, verdict: Verdict, started: int) -> None:
        """Record the span of a verdict that was asked for at `started`, in nanoseconds."""
        from opentelemetry.trace import Status, StatusCode

        span = self._tracer.start_span("judge", start_time=started)
        result: dict[str, str | float] = {
            "gen_ai.evaluation.name": "groundedness",
            "gen_ai.evaluation.score.label": verdict.score or "unscored",
        }
        if verdict.probability is not None:
            result["gen_ai.evaluation.score.value"] = verdict.probability
        if verdict.error is not None:
            result["error.type"] = verdict.error.code
            span.set_status(Status(StatusCode.ERROR, verdict.error.code))
        said = {"label": verdict.score, "score": verdict.probability}
        span.set_attributes(
            {
                "openinference.span.kind": "EVALUATOR",
                "output.value": json.dumps(said),
                "output.mime_type": "application/json",
                "llm.token_count.prompt": verdict.usage.input_tokens,
                "llm.token_count.completion": verdict.usage.output_tokens,
                "moonlynx.judge.name": verdict.judge.name,
                "moonlynx.judge.version": verdict.judge.version,
                "moonlynx.windows": verdict.usage.windows,
                "gen_ai.usage.input_tokens": verdict.usage.input_tokens,
                "gen_ai.usage.output_tokens": verdict.usage.output_tokens,
            }
        )
        span.add_event("gen_ai.evaluation.result", result)
        span.end(time.time_ns())

    def close(self) -> None:
        """Send what has not been sent yet."""
        self._provider.shutdown()


def open_tracing() -> Tracing | None:
    """Return the tracing that the environment asks for, None where it asks for none."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingExtra("OpenTelemetry", "serve") from None
    provider = TracerProvider(resource=Resource.create({"service.name": "moonlynx"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
