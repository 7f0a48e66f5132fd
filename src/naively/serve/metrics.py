"""What Prometheus is told."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from naively.serve.state import State

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """Counts of requests and rows, and the state.

    Parameters
    ----------
    paths : of the service; others are counted together.
    state : what tells the state.
    size : what tells the bytes of the log.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(
        self, paths: frozenset[str], state: Callable[[], State], size: Callable[[], int]
    ) -> None:
        self._paths = paths
        self._registry = own = CollectorRegistry()
        ProcessCollector(registry=own)
        PlatformCollector(registry=own)
        self._counts: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        labels = ["path", "status"]
        self._requests = Counter("naively_requests", "Requests", labels, registry=own)
        self._seconds = Histogram(
            "naively_request_seconds", "Seconds that requests took", ["path"], buckets=SECONDS,
            registry=own,
        )  # fmt: skip
        self._rows = Counter("naively_rows", "Rows by what was done", ["what"], registry=own)
        for name, said, value in (
            ("naively_state", "Changes since the model was first served", lambda: state().number),
            ("naively_model_rows", "Rows that the model learned", lambda: state().model.rows),
            ("naively_log_bytes", "Bytes of the log that are not in the model file", size),
        ):
            Gauge(name, said, registry=own).set_function(value)

    def seen(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        path = path if path in self._paths else "other"
        if (counts := self._counts.get((path, status))) is None:
            counts = self._requests.labels(path, str(status)), self._seconds.labels(path)
            self._counts[path, status] = counts
        counts[0].inc()
        counts[1].observe(seconds)

    def rows(self, what: str, count: int) -> None:
        """Count rows."""
        self._rows.labels(what).inc(count)

    def text(self) -> bytes:
        """All of it as Prometheus reads it."""
        return generate_latest(self._registry)
