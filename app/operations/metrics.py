"""What a process measures of itself and of the queue it shares, as a page for Prometheus.

No label names a company, a person or anything somebody wrote: routes are templates, all others are closed sets or names
an operator chose (agents, models).
"""

import asyncio
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    Info,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app import __version__, telemetry
from app.domain.principal import Principal
from app.domain.tasks import TaskStatus
from app.errors import AppError
from app.reasoning.budget import Limits, Spent, StoredLedger
from app.storage.database import Database
from app.tasks.queue import queue_of
from app.tasks.run import TaskRun

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of the buckets of a duration, from a small page to a deep run."""
_LAG_BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
_LOOK_SECONDS = 0.25
"""Between two looks at the event loop: four timers a second, whether or not anybody asks for figures."""
_QUEUE_SECONDS = 1.0
"""How long figures of the queue are kept: several processes may be asked at once."""
# The queue's table has no row security: it holds ids alone. Nothing of whose job it is leaves this statement.
_LINES = """
select entrypoint, count(*) filter (where status = 'queued') as waiting,
    count(*) filter (where status = 'picked') as running,
    extract(epoch from now() - min(created) filter (where status = 'queued'))::float8 as oldest
from pgqueuer where status in ('queued', 'picked') group by entrypoint
"""
disable_created_metrics()  # type: ignore[no-untyped-call]
MEDIA_TYPE = CONTENT_TYPE_LATEST
"""Of what `Metrics.write` gives."""


class Waiting(NamedTuple):
    """One line of the queue, of all tenants."""

    line: str
    waiting: int
    running: int
    oldest_seconds: float
    """How long the oldest job has waited; 0 when none waits."""


class Metrics:
    """The figures of one process; reads the queue's from the database when they are asked for."""

    def __init__(self, database: Database, token: str = ""):
        """`token`: what a reader has to bring; empty = only readers on this machine are served."""
        self._database, self.token = database, token
        self._queue: list[Waiting] | None = None
        self._queue_at = float("-inf")
        self._registry = own = CollectorRegistry(auto_describe=False)
        labels = ("method", "route", "status")
        self._requests = Histogram(
            "conclave_http_request_duration_seconds",
            "Until the answer ends.",
            labels,
            registry=own,
            buckets=_SECONDS,
        )
        self._runs = Counter("conclave_runs_total", "Runs ended by this process.", ("kind", "outcome"), registry=own)
        self._run_seconds = Histogram(
            "conclave_run_duration_seconds", "Work on a run, last attempt.", ("kind",), registry=own, buckets=_SECONDS
        )
        self._wait_seconds = Histogram(
            "conclave_run_wait_seconds", "From asking to the first claim.", ("kind",), registry=own, buckets=_SECONDS
        )
        self._again = Counter("conclave_redispatches_total", "Attempts beyond the first.", ("kind",), registry=own)
        self._refusals = Counter("conclave_refusals_total", "Questions not taken in.", ("limit",), registry=own)
        self._calls = Counter("conclave_model_calls_total", "Calls of models.", ("model", "outcome"), registry=own)
        self._tokens = Counter("conclave_model_tokens_total", "Tokens of models.", ("model", "kind"), registry=own)
        self._cost = Counter("conclave_model_cost_total", "Price in your currency.", ("model",), registry=own)
        self._lag = Histogram(
            "conclave_event_loop_lag_seconds", "How late timers fire.", registry=own, buckets=_LAG_BOUNDS
        )
        Info("conclave_build", "What runs.", registry=own).info(
            {"version": __version__, "python": platform.python_version()}
        )
        own.register(_Now(self._read_now))

    def observe_request(self, method: str, route: str, status: int | None, seconds: float) -> None:
        """Count one request; None = it ended without an answer."""
        seen = method if method in _METHODS else "other", route, f"{status // 100}xx" if status else "none"
        self._requests.labels(*seen).observe(seconds)

    def observe_end(self, run: TaskRun, status: TaskStatus, metadata: Mapping[str, Any]) -> None:
        """Count a run that was ended here, and how long it waited and was worked on."""
        task = run.task
        self._runs.labels(task.kind, str(metadata.get("outcome") or status.value)).inc()
        self._again.labels(task.kind).inc(max(run.attempt - 1, 0))
        self._run_seconds.labels(task.kind).observe(max((datetime.now(UTC) - task.updated_at).total_seconds(), 0.0))
        if run.attempt == 1:
            self._wait_seconds.labels(task.kind).observe(max((task.updated_at - task.created_at).total_seconds(), 0.0))

    def observe_refusal(self, limit: str) -> None:
        """Count a question that was not taken in."""
        self._refusals.labels(limit).inc()

    def observe_call(self, spent: Spent) -> None:
        """Count one call of a language model."""
        self._calls.labels(spent.model, spent.outcome).inc()
        self._tokens.labels(spent.model, "prompt").inc(spent.prompt_tokens)
        self._tokens.labels(spent.model, "completion").inc(spent.completion_tokens)
        self._cost.labels(spent.model).inc(spent.cost_micros / 1_000_000)

    async def watch_loop(self) -> None:
        """Measure how late the event loop is, until cancelled."""
        while True:
            due = time.perf_counter() + _LOOK_SECONDS
            await asyncio.sleep(_LOOK_SECONDS)
            self._lag.observe(max(time.perf_counter() - due, 0.0))

    async def write(self) -> bytes:
        """Write every figure; with the database away those of the queue are missing and ``conclave_database_up`` is 0.
        Does I/O."""
        try:
            await self._read_queue()
        except AppError:
            self._queue, self._queue_at = None, float("-inf")
        return generate_latest(self._registry)

    async def _read_queue(self) -> None:
        if time.monotonic() - self._queue_at < _QUEUE_SECONDS:
            return
        async with self._database.operator_scope() as tx:
            rows = await tx.driver.fetch(_LINES)
        self._queue = [Waiting(row[0], row[1], row[2], max(row[3] or 0.0, 0.0)) for row in rows]
        self._queue_at = time.monotonic()

    def _read_now(self) -> Iterator[Metric]:
        """Yield what is kept elsewhere, as it is at this moment."""
        jobs = GaugeMetricFamily("conclave_queue_jobs", "Jobs of all processes.", labels=("queue", "state"))
        oldest = GaugeMetricFamily("conclave_queue_oldest_seconds", "Age of the oldest waiting job.", labels=("queue",))
        for one in self._queue or ():
            jobs.add_metric((queue_of(one.line), "waiting"), one.waiting)
            jobs.add_metric((queue_of(one.line), "running"), one.running)
            oldest.add_metric((queue_of(one.line),), one.oldest_seconds)
        up = GaugeMetricFamily("conclave_database_up", "Whether the queue could be read.", self._queue is not None)
        size, idle, acquires, waited_seconds = self._database.pool_use
        pool = GaugeMetricFamily("conclave_pool_connections", "Database connections open here.", labels=("state",))
        pool.add_metric(("used",), size - idle)
        pool.add_metric(("idle",), idle)
        taken = CounterMetricFamily("conclave_pool_acquires_total", "Connections taken from the pool.", acquires)
        waited = CounterMetricFamily("conclave_pool_wait_seconds_total", "Waited for one, in all.", waited_seconds)
        found = CounterMetricFamily("conclave_lookups_total", "Caches, plans of searches.", labels=("what", "result"))
        for (what, result), number in telemetry.TALLY.items():
            found.add_metric((what, result), number)
        yield from (jobs, oldest, up, pool, taken, waited, found)


class _Now(Collector):
    """Figures that are read at the moment somebody asks."""

    def __init__(self, read: Callable[[], Iterator[Metric]]):
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Yield every figure with its samples."""
        return self._read()


class CountedLedger(StoredLedger):
    """The ledger in the database, which tells the process's figures of every call."""

    def __init__(self, database: Database, limits: Limits, metrics: Metrics):
        super().__init__(database, limits)
        self._metrics = metrics

    async def settle(self, principal: Principal, call_id: UUID, spent: Spent) -> None:
        """See `Ledger`."""
        self._metrics.observe_call(spent)
        await super().settle(principal, call_id, spent)
