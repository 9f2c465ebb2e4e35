"""Prometheus metrics: requests, the queue, verdicts and their cost. Never a text."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from moonlynx.judge.contract.types import Verdict

if TYPE_CHECKING:
    from .queue.batching import Batcher

_RECENT = 1_000  # scored verdicts that the PASS rate looks back on
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Counters:
    """The counters of one server, in a registry of its own."""

    def __init__(self) -> None:
        import prometheus_client as prometheus

        self._registry = prometheus.CollectorRegistry()
        self._recent: deque[bool] = deque(maxlen=_RECENT)

        def add(kind: Any, name: str, about: str, labels: Sequence[str] = (), **more: Any) -> Any:
            return kind(f"moonlynx_{name}", about, labels, registry=self._registry, **more)

        counter, gauge = partial(add, prometheus.Counter), partial(add, prometheus.Gauge)
        seconds = partial(add, prometheus.Histogram, buckets=_SECONDS)
        route = ["method", "route", "status"]
        self._requests = counter("requests", "Requests answered.", route)
        self._latency = seconds("request_seconds", "From request to end of answer.", ["route"])
        self._batch_rows = add(
            prometheus.Histogram, "batch_rows", "Rows judged at once.", buckets=_ROWS
        )
        self._batch_seconds = seconds("batch_seconds", "Time to judge a batch.")
        self._verdicts = counter("verdicts", "Verdicts given: PASS, FAIL, unscored.", ["score"])
        self._unscored = counter("unscored", "Verdicts without a score, by reason.", ["code"])
        self._tokens = counter("tokens", "Tokens that judges read and wrote.", ["direction"])
        self._windows = counter("windows", "Windows that an encoder read.")
        about = "Verdicts that the audit could not keep, by reason."
        self._dropped = counter("audit_dropped", about, ["reason"])
        about = "Verdicts of metrics: scored, or an error's code."
        self._metrics = counter("metric_verdicts", about, ["metric", "outcome"])
        self._waiting = gauge("queue_rows", "Rows waiting.")
        self._under_way = gauge("rows_under_way", "Rows being judged.")
        self._backlog = gauge("backlog_seconds", "Work left of rows with a deadline.")
        about = f"PASS among the last {_RECENT} scored verdicts; NaN before the first."
        gauge("pass_rate", about).set_function(self._pass_rate)

    def watch(self, batcher: Batcher) -> None:
        """Show how full a queue is."""
        self._waiting.set_function(lambda: batcher.waiting)
        self._under_way.set_function(lambda: batcher.under_way)
        self._backlog.set_function(batcher.backlog)

    def on_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(method, route, status).inc()
        self._latency.labels(route).observe(seconds)

    def on_batch(self, rows: int, seconds: float) -> None:
        """Count a judged batch."""
        self._batch_rows.observe(rows)
        self._batch_seconds.observe(seconds)

    def on_verdict(self, verdict: Verdict) -> None:
        """Count a verdict that is returned."""
        self._verdicts.labels(verdict.score or "unscored").inc()
        if verdict.error is not None:
            self._unscored.labels(verdict.error.code).inc()
        else:
            self._recent.append(verdict.score == "PASS")
        self._tokens.labels("in").inc(verdict.usage.input_tokens)
        self._tokens.labels("out").inc(verdict.usage.output_tokens)
        self._windows.inc(verdict.usage.windows)

    def on_audit_dropped(self, reason: str, rows: int) -> None:
        """Count verdicts that are dropped; may be called from any thread."""
        self._dropped.labels(reason).inc(rows)

    def on_metric(self, metric: str, outcome: str) -> None:
        """Count a metric's verdict: "scored", or the code of its error."""
        self._metrics.labels(metric, outcome).inc()

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry)

    def _pass_rate(self) -> float:
        return sum(self._recent) / len(self._recent) if self._recent else float("nan")
