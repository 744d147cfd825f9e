"""Keep the leases of what this process works on, stop what it no longer holds, and recover what nobody holds.

Every half second one statement asks which of them were lost; runs without a job get one again.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import structlog

from app.bus import Bus, Message, Method, Subscription, Wanted
from app.domain.plan import ORCHESTRATOR
from app.domain.principal import Principal
from app.domain.tasks import Task
from app.errors import StaleAttempt
from app.journal import Journal
from app.journal.writer import JournalWriter
from app.storage import tasks
from app.storage.database import Database
from app.storage.tasks import Attempt
from app.tasks.approvals import give_up
from app.tasks.queue import Job, JobQueue, line_of
from app.tasks.registry import CANCEL_TOPIC, TaskRegistry
from app.tasks.watchdog import LONGEST_PAUSE_SECONDS


class StepNotifications:
    """A bus on which a step's journal only wakes its leader."""

    def __init__(self, bus: Bus):
        self._bus = bus

    async def publish(self, *messages: Message) -> None:
        """One hint for all of them."""
        if messages:
            told = {
                "method": Method.PROGRESS, "topic": "step_journal", "to_agent": ORCHESTRATOR, "agent_type": "",
                "task_id": messages[-1].root_task_id, "token_limit": None, "payload": None,
            }  # fmt: skip
            await self._bus.publish(messages[-1].model_copy(update=told))

    def subscribe(self, wanted: Wanted) -> AbstractAsyncContextManager[Subscription]:
        """See `Bus`."""
        return self._bus.subscribe(wanted)

    async def aclose(self) -> None:
        """The bus is another's to close."""


LOOK_SECONDS: Final = 0.5
"""What is held is asked for this often."""
_PATIENCE_SECONDS = 2.0
_RENEWALS = 6
"""Of a lease in its own time, at least half of them."""
_log = structlog.get_logger(__name__)


@dataclass(eq=False)
class LeasedAttempt:
    """One attempt at a task, as it is worked on here."""

    owner: Principal
    task: Task
    work: "asyncio.Task[bool]"
    renewed_at: float
    is_lost: bool = field(default=False)
    writer: JournalWriter | None = None
    """What the attempt writes to, once it has begun."""

    @property
    def attempt(self) -> Attempt:
        """The claim."""
        return Attempt(self.owner.tenant_id, self.owner.user_id, self.task.task_id, self.task.attempt)

    def lose(self) -> None:
        """Stop working: somebody else holds the task now, or nobody. An attempt that wrote the end itself goes on with
        what comes after the answer, such as the session's memory."""
        if self.writer is not None and self.writer.has_ended:
            return
        if not self.is_lost:
            _log.info("run_lost", task_id=self.task.task_id, attempt=self.task.attempt)
        self.is_lost = True
        self.work.cancel()


class Leases:
    """Everything that is held by one worker."""

    def __init__(self, database: Database, registry: TaskRegistry, journal: Journal):
        self._database = database
        self._registry = registry
        self._journal = journal
        self._held: set[LeasedAttempt] = set()
        self._looked_at = float("-inf")
        self._looking = asyncio.Lock()

    def hold(self, owner: Principal, task: Task, work: Coroutine[Any, Any, bool]) -> LeasedAttempt:
        """Begin to work on a claimed task, in an asyncio task of its own: whoever waits for it may go away."""
        held = LeasedAttempt(owner, task, asyncio.create_task(work), _now())
        self._held.add(held)
        held.work.add_done_callback(lambda _: self._held.discard(held))
        return held

    def attach(self, task_id: UUID, attempt: int, writer: JournalWriter) -> None:
        """Know what an attempt that is held writes to."""
        for held in self._held:
            if (held.task.task_id, held.task.attempt) == (task_id, attempt):
                held.writer = writer

    @property
    def work(self) -> list["asyncio.Task[bool]"]:
        """What is being worked on."""
        return [held.work for held in self._held]

    async def check(self, task_id: UUID, attempt: int) -> None:
        """See `TaskRun.check`. A database that does not answer is no reason to stop."""
        if _now() - self._looked_at > LOOK_SECONDS:
            await self._look_within(LOOK_SECONDS)
        if any(held.is_lost for held in self._held if (held.task.task_id, held.task.attempt) == (task_id, attempt)):
            raise StaleAttempt(f"attempt {attempt} no longer holds task {task_id}")

    async def keep_looking(self, beat: Callable[[], None]) -> None:
        """Stop what is no longer held, until cancelled."""
        while True:
            await self._look_within(_PATIENCE_SECONDS)
            beat()
            await asyncio.sleep(LOOK_SECONDS)

    async def keep_renewing(self, beat: Callable[[], None]) -> None:
        """Keep the leases, until cancelled."""
        age = self._registry.lease_seconds / _RENEWALS
        while True:
            due = [held for held in self._held if _now() - held.renewed_at >= age]
            await asyncio.gather(*(self._renew(held) for held in due))
            beat()
            await asyncio.sleep(min(age, LONGEST_PAUSE_SECONDS))

    async def keep_hearing(self, beat: Callable[[], None]) -> None:
        """Look as soon as the bus tells of a cancelled run that is held here, until cancelled. It is only a hint:
        whoever may speak on the bus stops nothing by it."""
        while True:
            async with self._journal.wake.subscribe(Wanted(topics=frozenset({CANCEL_TOPIC}))) as cancelled:
                while True:
                    message = await cancelled.next_within(LOOK_SECONDS)
                    beat()
                    if message and any(held.task.root_task_id == message.root_task_id for held in self._held):
                        await self._look_within(_PATIENCE_SECONDS)

    async def _look_within(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._look()
        except Exception as error:
            _log.warning("not_looked", error_class=type(error).__name__)

    async def _look(self) -> None:
        async with self._looking:
            asked = [held for held in self._held if not held.is_lost and not self._is_spooled(held)]
            at = _now()
            if asked:
                async with self._database.operator_scope() as tx:
                    lost = await tasks.lost_attempts(tx, [held.attempt for held in asked])
                for held in asked:
                    if held.task.task_id in lost and not held.work.done():
                        held.lose()
            self._looked_at = at

    def _is_spooled(self, held: LeasedAttempt) -> bool:
        """Whether the database does not know yet what was done: bringing that in decides who holds the task."""
        return self._journal.outage.is_spooled(held.task.task_id)

    async def _renew(self, held: LeasedAttempt) -> None:
        if self._is_spooled(held):
            return
        try:
            async with asyncio.timeout(self._registry.lease_seconds / _RENEWALS * 2):
                kept = await self._registry.renew_lease(held.owner, held.task.task_id, held.task.attempt)
        except Exception as error:
            _log.warning("lease_not_renewed", task_id=held.task.task_id, error_class=type(error).__name__)
            return
        held.renewed_at = _now()
        if kept:
            await self._journal.wake.publish(_heartbeat(held))
        else:
            held.lose()


def _heartbeat(held: LeasedAttempt) -> Message:
    """Whoever works on a task is alive; the lease in the database is what counts."""
    task = held.task
    return Message(
        method=Method.HEARTBEAT, topic="heartbeat", from_agent=task.assignee_agent_id or ORCHESTRATOR,
        to_agent=ORCHESTRATOR, tenant_id=held.owner.tenant_id, user_id=held.owner.user_id, session_id=task.session_id,
        root_task_id=task.root_task_id, task_id=task.task_id, attempt=task.attempt,
    )  # fmt: skip


def _now() -> float:
    return asyncio.get_running_loop().time()


_MOST = 100
_LEAST_QUIET_SECONDS, _LONGEST_QUIET_SECONDS = 1.0, 2.0
_RECOVERY_SECONDS = 5.0


class Recovery:
    """Every worker recovers; the database lets one at a time."""

    def __init__(self, database: Database, journal: Journal, queue: JobQueue, lease_seconds: float):
        self._database = database
        self._journal = journal
        self._queue = queue
        pause = max(lease_seconds / 6, _LEAST_QUIET_SECONDS)
        self._quiet_seconds = min(pause, _LONGEST_QUIET_SECONDS)
        self._pause = min(pause, LONGEST_PAUSE_SECONDS)

    async def keep_recovering(self, beat: Callable[[], None]) -> None:
        """Recover now and then, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(_RECOVERY_SECONDS):
                    await self.recover()
                    await self.end_waiting()
            except Exception as error:
                _log.warning("not_recovered", error_class=type(error).__name__)
            beat()
            await asyncio.sleep(self._pause)

    async def recover(self) -> int:
        """Give every forgotten run a job; how many there were."""
        async with self._database.operator_scope() as tx:
            if not await tasks.may_recover(tx):
                return 0
            forgotten = await tasks.runs_without_job(tx, self._quiet_seconds, _MOST)
            for run in forgotten:
                job = Job(tenant_id=run.tenant_id, user_id=run.user_id, task_id=run.task_id)
                await self._queue.enqueue_job(tx, job, line_of("ingest" if run.kind == "ingest" else "chat"))
                _log.warning("run_recovered", task_id=run.task_id, kind=run.kind)
            return len(forgotten)

    async def end_waiting(self) -> int:
        """Cancel every run that waited for too long; how many there were."""
        async with self._database.operator_scope() as tx:
            late = [Job.model_validate(ids) for ids in await tasks.past_waiting(tx, _MOST)]
        ended = 0
        for job in late:
            async with self._database.principal_scope(job.owner) as own:
                told = await give_up(own, job.task_id)
            if told is not None:
                ended += 1
                await self._journal.publish(*told)
                _log.info("run_waited_in_vain", task_id=job.task_id)
        return ended
