"""What a process measures of itself and of the queue it shares, as a page for Prometheus.

No label names a company, a person or anything somebody wrote: routes are templates, all others are closed sets or names
an operator chose (agents, models).
"""

import asyncio
import platform
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from app import __version__, telemetry
from app.domain.principal import Principal
from app.domain.tasks import TaskStatus
from app.errors import AppError
from app.operations.exposition import Counter, Gauge, Histogram
from app.reasoning.budget import Limits, Spent, StoredLedger
from app.storage.database import Database
from app.tasks.queue import queue_of
from app.tasks.run import TaskRun

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
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
        self._queue: list[Waiting] = []
        self._queue_at = float("-inf")
        labels = ("method", "route", "status")
        self._requests = Counter("conclave_http_requests_total", "Requests answered, by route template.", labels)
        self._durations = Histogram("conclave_http_request_duration_seconds", "From request to end of answer.", labels)
        self._runs = Counter("conclave_runs_total", "Runs ended by this process.", ("kind", "outcome"))
        self._run_seconds = Histogram("conclave_run_duration_seconds", "Work on a run, last attempt.", ("kind",))
        self._wait_seconds = Histogram("conclave_run_wait_seconds", "From asking to the first claim.", ("kind",))
        self._again = Counter("conclave_redispatches_total", "Attempts beyond the first of runs that ended.", ("kind",))
        self._refusals = Counter("conclave_refusals_total", "Questions not taken in, by the limit.", ("limit",))
        self._calls = Counter("conclave_model_calls_total", "Calls of language models.", ("model", "outcome"))
        self._tokens = Counter("conclave_model_tokens_total", "Tokens of language models.", ("model", "kind"))
        self._cost = Counter("conclave_model_cost_total", "Their price in your currency.", ("model",))
        self._lag = Histogram("conclave_event_loop_lag_seconds", "How late timers fire.", bounds=_LAG_BOUNDS)
        self._jobs = Gauge("conclave_queue_jobs", "Jobs of all processes.", ("queue", "state"))
        self._oldest = Gauge("conclave_queue_oldest_seconds", "Age of the oldest waiting job.", ("queue",))
        self._pool = Gauge("conclave_pool_connections", "Database connections of this process.", ("state",))
        self._pool_waits = Gauge("conclave_pool_acquires_total", "Connections taken from the pool.", kind="counter")
        self._pool_seconds = Gauge("conclave_pool_wait_seconds_total", "Waited for one, in all.", kind="counter")
        self._up = Gauge("conclave_database_up", "Whether the queue could be read for this answer.")
        self._build = Gauge("conclave_build_info", "Always 1.", ("version", "python"))
        self._build.set(__version__, platform.python_version(), to=1)
        self._own = [figure for figure in vars(self).values() if isinstance(figure, Counter | Gauge | Histogram)]

    def observe_request(self, method: str, route: str, status: int | None, seconds: float) -> None:
        """Count one request; None = it ended without an answer."""
        labels = method if method in _METHODS else "other", route, f"{status // 100}xx" if status else "none"
        self._requests.add(*labels)
        self._durations.observe(*labels, seconds=seconds)

    def observe_end(self, run: TaskRun, status: TaskStatus, metadata: Mapping[str, Any]) -> None:
        """Count a run that was ended here, and how long it waited and was worked on."""
        task = run.task
        self._runs.add(task.kind, str(metadata.get("outcome") or status.value))
        self._again.add(task.kind, by=max(run.attempt - 1, 0))
        self._run_seconds.observe(task.kind, seconds=max((datetime.now(UTC) - task.updated_at).total_seconds(), 0.0))
        if run.attempt == 1:
            self._wait_seconds.observe(task.kind, seconds=max((task.updated_at - task.created_at).total_seconds(), 0.0))

    def observe_refusal(self, limit: str) -> None:
        """Count a question that was not taken in."""
        self._refusals.add(limit)

    def observe_call(self, spent: Spent) -> None:
        """Count one call of a language model."""
        self._calls.add(spent.model, spent.outcome)
        self._tokens.add(spent.model, "prompt", by=spent.prompt_tokens)
        self._tokens.add(spent.model, "completion", by=spent.completion_tokens)
        self._cost.add(spent.model, by=spent.cost_micros / 1_000_000)

    async def watch_loop(self) -> None:
        """Measure how late the event loop is, until cancelled."""
        while True:
            due = time.perf_counter() + _LOOK_SECONDS
            await asyncio.sleep(_LOOK_SECONDS)
            self._lag.observe(seconds=max(time.perf_counter() - due, 0.0))

    async def write(self) -> str:
        """Write every figure; with the database away those of the queue are missing and ``conclave_database_up`` is 0.
        Does I/O."""
        try:
            await self._read_queue()
            self._up.set(to=1)
        except AppError:
            self._queue, self._queue_at = [], float("-inf")
            self._up.set(to=0)
        self._jobs.clear()
        self._oldest.clear()
        for one in self._queue:
            self._jobs.set(queue_of(one.line), "waiting", to=one.waiting)
            self._jobs.set(queue_of(one.line), "running", to=one.running)
            self._oldest.set(queue_of(one.line), to=one.oldest_seconds)
        size, idle, acquires, waited_seconds = self._database.pool_use
        self._pool.set("used", to=size - idle)
        self._pool.set("idle", to=idle)
        self._pool_waits.set(to=acquires)
        self._pool_seconds.set(to=waited_seconds)
        return "\n".join((*(line for figure in self._own for line in figure.lines()), *_lookups().lines())) + "\n"

    async def _read_queue(self) -> None:
        if time.monotonic() - self._queue_at < _QUEUE_SECONDS:
            return
        async with self._database.operator_scope() as tx:
            rows = await tx.driver.fetch(_LINES)
        self._queue = [Waiting(row[0], row[1], row[2], max(row[3] or 0.0, 0.0)) for row in rows]
        self._queue_at = time.monotonic()


def _lookups() -> Counter:
    """What `telemetry` counted in this process."""
    counted = Counter("conclave_lookups_total", "Cache lookups and plans of searches.", ("what", "result"))
    for (what, result), number in telemetry.TALLY.items():
        counted.add(what, result, by=number)
    return counted


class CountedLedger(StoredLedger):
    """The ledger in the database, which tells the process's figures of every call."""

    def __init__(self, database: Database, limits: Limits, metrics: Metrics):
        super().__init__(database, limits)
        self._metrics = metrics

    async def settle(self, principal: Principal, call_id: UUID, spent: Spent) -> None:
        """See `Ledger`."""
        self._metrics.observe_call(spent)
        await super().settle(principal, call_id, spent)
