"""Prometheus metrics: requests, the queue, verdicts and their cost. Never a text."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from moonlynx.judge.contract.types import Verdict

_RECENT = 1_000  # scored verdicts that the PASS rate looks back on
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """The counters of one server, in a registry of its own."""

    def __init__(
        self,
        waiting: Callable[[], int],
        under_way: Callable[[], int] = lambda: 0,
        backlog: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Set them up.

        Args:
            waiting: rows in the queue.
            under_way: rows that are being judged.
            backlog: seconds of work that both are.
        """
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._registry = CollectorRegistry()
        self._recent: deque[bool] = deque(maxlen=_RECENT)

        def counter(name: str, help_: str, *labels: str) -> Counter:
            return Counter(f"moonlynx_{name}", help_, labels, registry=self._registry)

        def histogram(
            name: str, help_: str, buckets: Iterable[float], labels: Iterable[str] = ()
        ) -> Histogram:
            name = f"moonlynx_{name}"
            return Histogram(name, help_, labels, registry=self._registry, buckets=tuple(buckets))

        self._requests = counter("requests", "Requests answered.", "method", "route", "status")
        self._latency = histogram(
            "request_seconds", "From request to end of answer.", _SECONDS, ["route"]
        )
        self._batch_rows = histogram("batch_rows", "Rows judged at once.", _ROWS)
        self._batch_seconds = histogram("batch_seconds", "Time to judge a batch.", _SECONDS)
        self._verdicts = counter("verdicts", "Verdicts given: PASS, FAIL, unscored.", "score")
        self._unscored = counter("unscored", "Verdicts without a score, by reason.", "code")
        self._tokens = counter("tokens", "Tokens that judges read and wrote.", "direction")
        self._windows = counter("windows", "Windows that an encoder read.")
        self._dropped = counter(
            "audit_dropped", "Verdicts that the audit could not keep, by reason.", "reason"
        )
        self._metrics = counter(
            "metric_verdicts",
            "Verdicts of metrics: scored, or an error's code.",
            "metric",
            "outcome",
        )

        def gauge(name: str, help_: str, value: Callable[[], float]) -> None:
            Gauge(f"moonlynx_{name}", help_, registry=self._registry).set_function(value)

        gauge("queue_rows", "Rows waiting.", waiting)
        gauge("rows_under_way", "Rows being judged.", under_way)
        gauge("backlog_seconds", "Work left of rows with a deadline.", backlog)
        gauge(
            "pass_rate",
            f"PASS among the last {_RECENT} scored verdicts; NaN before the first.",
            self._pass_rate,
        )

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
