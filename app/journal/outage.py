"""While PostgreSQL is away: the writes of running tasks wait in the spool, and are brought in when it is back.

A run spools every write behind one that could not be made. Nothing is shown of what waits, except a run's end with
everything before it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from app.bus import Bus, message_of
from app.domain.principal import Principal
from app.domain.tasks import NewTask, PrivateContext
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import JournalEntry
from app.journal.spool_records import ActiveRun, ActiveStep, ClaimedRun, Fate, Replay, Write, entry_of
from app.storage.database import Database
from app.storage.spool import Spool, SpoolFull, Waiting

RETRY_SECONDS: Final = 0.25
"""Between two looks whether the database is back."""
_SWEEP_SECONDS = 15.0
"""Between two looks for what a killed process left."""
_PATIENCE_SECONDS = 0.5
"""An end that could not be committed is shown as pending only when the database does not come back so soon."""
_log = logging.getLogger(__name__)


class Outage:
    """The spool of this process and the runs that use it."""

    def __init__(self, database: Database | None = None, wake: Bus | None = None, spool: Spool | None = None):
        """Without a spool nothing waits: a write that cannot be made raises."""
        self._database, self._wake, self._spool = database, wake, spool
        self._bring_in: Replay | None = None
        self._runs: dict[UUID, ActiveRun] = {}
        self._run_of_step: dict[UUID, ActiveRun] = {}
        self._set_aside: set[tuple[str, UUID]] = set()
        """What cannot be brought in although the database is there; it is tried again after a restart."""
        self._is_away = False
        self._nudge = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._round: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._counted = Waiting(0, 0, 0)

    @property
    def is_away(self) -> bool:
        """Whether the database could not be used when it was last tried."""
        return self._is_away

    async def start(self, bring_in: Replay) -> None:
        """Bring in what killed processes left, and be ready for the next outage."""
        self._bring_in = bring_in
        if self._spool is None:
            return
        if await self._spool.take_over():
            self._settled.clear()
            with suppress(AppError):
                await self._go_round()
        self._keeper = asyncio.create_task(self._keep())

    async def aclose(self) -> None:
        """Bring in what can be, and leave the rest to the next process."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper, *filter(None, [self._round])], timeout=_PATIENCE_SECONDS)
        if self._spool is None:
            return
        with suppress(AppError, TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._go_round()
        await self._spool.aclose()

    async def is_settled_within(self, seconds: float) -> bool:
        """Wait until nothing waits to be brought in; False when something still does after that time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._settled.wait()
        return self._settled.is_set()

    def is_spooled(self, task_id: UUID) -> bool:
        """Whether writes of this run wait to be brought in."""
        run = self._runs.get(task_id)
        return run is not None and run.is_spooled

    def report_away(self) -> None:
        """Somebody could not reach the database: look until it is back."""
        if self._spool is not None and not self._is_away:
            self._is_away = True
            self._nudge.set()

    def hold(self, held: ClaimedRun) -> ActiveRun:
        """A run this process works on from now until `release`."""
        run = self._runs[held.task_id] = ActiveRun(held)
        return run

    def release(self, run: ActiveRun) -> None:
        """Nobody works on it any more."""
        run.is_live = False
        for step_id in run.steps:
            self._run_of_step.pop(step_id, None)
        if not run.is_spooled and self._runs.get(run.held.task_id) is run:
            del self._runs[run.held.task_id]

    def active_run(self, principal: Principal, task_id: UUID) -> ActiveRun | None:
        """A run of the caller that this process holds."""
        run = self._runs.get(task_id)
        if run is None:
            return None
        owner = run.held.principal
        is_own = (owner.tenant_id, owner.user_id) == (principal.tenant_id, principal.user_id)
        return run if is_own else None

    async def write(
        self, run: ActiveRun, directly: Callable[[], Awaitable[object]], kept: Callable[[], Sequence[Write]]
    ) -> bool:
        """Write `directly`, at most once, or keep what is `kept` in the spool; whether it is written. Raises
        `StaleAttempt` when the run was lost, `AppError` (503) when there is no room in a spool: then the run has
        failed."""
        is_tried = False
        while True:
            if run.failure is not None:
                raise run.failure
            if not run.is_spooled and not is_tried:
                try:
                    await directly()
                    return True
                except AppError as error:
                    if error.code is not ErrorCode.DATABASE_UNAVAILABLE or self._spool is None:
                        raise
                    is_tried = True
            async with run.lock:
                if run.failure is not None or not (run.is_spooled or is_tried):
                    continue
                await self._keep_in_spool(run, kept)
                return False

    async def write_for(
        self, task_id: UUID, directly: Callable[[], Awaitable[object]], kept: Callable[[], Sequence[Write]]
    ) -> bool:
        """`write`, for a root task or a step; one that no run of this process knows is written directly."""
        run = self._runs.get(task_id) or self._run_of_step.get(task_id)
        if run is None or not run.is_live:
            await directly()
            return True
        return await self.write(run, directly, kept)

    def know_step(self, new_task: NewTask, context: PrivateContext | None) -> None:
        """Remember a step of a run of this process as long as that goes on."""
        run = self._runs.get(new_task.root_task_id)
        if run is not None and run.is_live:
            run.steps.setdefault(new_task.task_id, ActiveStep(new_task, context))
            self._run_of_step[new_task.task_id] = run

    def active_step(self, task_id: UUID) -> ActiveStep | None:
        """A step of a run of this process."""
        run = self._run_of_step.get(task_id)
        return None if run is None else run.steps[task_id]

    async def end_of(self, run: ActiveRun, told: Sequence[JournalEntry]) -> bool:
        """The end of `run` lies in the spool: show it, unless it can be brought in at once; whether it was."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await asyncio.shield(self._soon())
        if not run.is_spooled:
            return True
        run.told = tuple(told)
        return False

    async def _keep_in_spool(self, run: ActiveRun, kept: Callable[[], Sequence[Write]]) -> None:
        assert self._spool is not None
        self._is_away = True
        if self._settled.is_set():
            _log.warning("spool_began", extra={"task_id": str(run.held.task_id)})
        self._settled.clear()
        self._nudge.set()
        writes = kept() if run.is_spooled else [*run.beginning, *kept()]
        run.is_spooled = True
        held = run.held
        try:
            await asyncio.shield(self._spool.put(held.principal.tenant_id, held.task_id, [entry_of(w) for w in writes]))
        except SpoolFull as full:
            _log.error("spool_full", extra={"task_id": str(held.task_id), "reason": str(full)})
            await self._spool.discard(held.task_id)
            run.is_spooled, run.failure = False, _no_room()
            raise run.failure from full

    def _soon(self) -> "asyncio.Task[None]":
        """A round that goes on now, or begins now."""
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._quiet_round())
        return self._round

    async def _quiet_round(self) -> None:
        """A round; an absent database ends it."""
        try:
            await self._go_round()
        except AppError:
            self._is_away = True

    async def _keep(self) -> None:
        """Look whether the database is back as long as anything waits, else now and then for what others left."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SWEEP_SECONDS):
                    await self._nudge.wait()
            self._nudge.clear()
            await self._soon()
            while self._is_away or not self._settled.is_set():
                await asyncio.sleep(RETRY_SECONDS)
                await self._soon()

    async def _go_round(self) -> None:
        """Bring in everything that waits. Raises `AppError` while the database is away."""
        assert self._spool is not None and self._database is not None
        await self._spool.take_over()
        waiting = await self._waiting()
        if not waiting and not self._is_away:
            return
        async with self._database.operator_scope():
            pass
        while waiting:
            for origin, task_id in waiting:
                await self._bring_in_one(origin, task_id)
            waiting = await self._waiting()
        await self._spool.tidy()
        if self._counted.runs:
            _log.info("spool_flushed", extra={"runs": self._counted.runs, "entries": self._counted.entries})
        self._counted = Waiting(0, 0, 0)
        self._is_away = False
        self._settled.set()

    async def _waiting(self) -> list[tuple[str, UUID]]:
        assert self._spool is not None
        return [one for one in await self._spool.runs() if one not in self._set_aside]

    async def _bring_in_one(self, origin: str, task_id: UUID) -> None:
        """Bring in what waits of one run, and let the run go on in the database."""
        assert self._spool is not None and self._bring_in is not None
        run = self._runs.get(task_id)
        async with run.lock if run else asyncio.Lock():
            found = await self._spool.read(origin, task_id)
            if found is None:
                return
            try:
                done = await self._bring_in(found, run is not None and run.is_live)
            except Exception as error:
                if isinstance(error, AppError) and error.code is ErrorCode.DATABASE_UNAVAILABLE:
                    raise
                self._put_aside(origin, task_id, run, error)
                return
            await self._spool.remove(origin, task_id, found.upto)
            if run is not None and run.held.attempt == done.place.attempt:
                self._go_on(run, done.fate)
        self._counted = Waiting(self._counted.runs + 1, self._counted.entries + len(found.numbered), 0)
        if done.entries and self._wake is not None:
            await self._wake.publish(*(message_of(done.place, entry) for entry in done.entries))

    def _go_on(self, run: ActiveRun, fate: Fate) -> None:
        run.is_spooled, run.has_events, run.told = False, False, ()
        if fate in ("late", "lost", "erased"):
            run.failure = StaleAttempt(f"attempt {run.held.attempt} no longer holds task {run.held.task_id}")
        if not run.is_live:
            self.release(run)

    def _put_aside(self, origin: str, task_id: UUID, run: ActiveRun | None, error: Exception) -> None:
        """A mistake of ours must not keep everything else waiting; the entries stay in the file."""
        _log.error("spool_not_brought_in", extra={"task_id": str(task_id)}, exc_info=error)
        self._set_aside.add((origin, task_id))
        if run is not None:
            run.failure = StaleAttempt(f"the writes of task {task_id} could not be brought in")


def _no_room() -> AppError:
    detail = "The database cannot be reached, and no more can be kept until it is back. Try again shortly."
    return AppError(ErrorCode.DATABASE_UNAVAILABLE, detail, status=503, retry_after_seconds=5)
