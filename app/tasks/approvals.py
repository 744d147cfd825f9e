"""Keep how far deep runs have come, and let people decide what parked runs, on which nobody works, wait for."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from app.bus import Place
from app.domain.principal import Principal
from app.domain.record import Record
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import Event, Interrupt, RenavigateRequest, VerificationDone
from app.journal import Journal, not_found
from app.journal.spool_records import json_of
from app.storage import deep_runs, documents, events
from app.storage.database import Database, Transaction
from app.storage.deep_runs import Parked
from app.tasks.queue import JobQueue
from app.tasks.run import TaskRun
from app.tasks.steps import stop_run

REFUSED = "The plan was not approved."
NOT_IN_TIME = "The plan was not approved in time."
_NODE = "planner"
Published = tuple[Place, int, Event]
"""What is told on the bus once it is committed."""


class Decision(Record):
    """What a person says about a plan."""

    approved: bool
    feedback: str = ""
    """What to plan differently; a plan that is refused without a word is not made again."""
    attempt: int | None = None
    """The `Interrupt` this answers; None = whichever there is."""


Decided = Callable[..., dict[str, Any]]
"""Puts a decision (`approved`, `feedback`) into a parked run's state. Raises ``ValueError`` for an unreadable one."""


class Approvals:
    """What parked runs wait for; every method does I/O."""

    def __init__(self, database: Database, journal: Journal, queue: JobQueue, decided: Decided):
        self._database = database
        self._journal = journal
        self._queue = queue
        self._decided = decided

    async def decide(self, principal: Principal, task_id: UUID, decision: Decision) -> None:
        """Let a parked run go on, plan again, or end. Raises `AppError`: 404 for what is no run of the caller, 409 when
        it waits for no such decision."""
        async with self._database.principal_scope(principal) as tx:
            parked = await deep_runs.lock_parked(tx, task_id)
            if parked is None:
                raise not_found()
            if not _is_asked(parked, decision):
                return
            told = await self._write(tx, task_id, parked, decision)
        if told is not None:
            await self._journal.publish(*told)

    async def _write(self, tx: Transaction, task_id: UUID, parked: Parked, decision: Decision) -> Published | None:
        said = {**decision.model_dump(), "attempt": parked.attempt}
        await deep_runs.note_decision(tx, task_id, said)
        await documents.note(
            tx, "approve_plan" if decision.approved else "refuse_plan", str(task_id), {"attempt": parked.attempt}
        )
        if not decision.approved and not decision.feedback:
            return await stop_run(tx, task_id, REFUSED)
        await self._change(tx, task_id, decision)
        await deep_runs.resume(tx, task_id)
        await self._queue.enqueue(tx, task_id)
        event = _event_of(decision)
        seq = await events.append_next(tx, task_id, parked.attempt, event.type, json_of(event))
        return Place.of(tx.principal, parked.session_id, task_id, parked.attempt), seq, event

    async def _change(self, tx: Transaction, task_id: UUID, decision: Decision) -> None:
        """Put the decision into the state. One that a newer version cannot read any more is dropped: the plan is made
        anew, and asked about again."""
        try:
            state = await deep_runs.last_state(tx, task_id)
            if state is not None:
                state = self._decided(state, approved=decision.approved, feedback=decision.feedback)
                await deep_runs.change_state(tx, task_id, state)
        except ValueError:
            await deep_runs.forget_state(tx, task_id)


def _is_asked(parked: Parked, decision: Decision) -> bool:
    """Whether the run waits for this decision; False when it was made before. Raises `AppError` (409)."""
    if parked.waits and decision.attempt in (None, parked.attempt):
        return True
    if parked.decision is not None:
        made = Decision.model_validate(parked.decision)
        if decision == made or decision == made.model_copy(update={"attempt": None}):
            return False
    detail = "This plan is not waiting for a decision any more, or never was. Look at the task."
    raise AppError(ErrorCode.CONFLICT_IN_FLIGHT, detail, status=409)


def _event_of(decision: Decision) -> Event:
    if decision.approved:
        return VerificationDone(node_id=_NODE, confidence=1.0)
    return RenavigateRequest(node_id=_NODE, reason=decision.feedback)


async def give_up(tx: Transaction, task_id: UUID) -> Published | None:
    """Cancel a run that waited for too long; None when it does not any more."""
    parked = await deep_runs.lock_parked(tx, task_id)
    if parked is None or not parked.waits or not parked.is_late:
        return None
    return await stop_run(tx, task_id, NOT_IN_TIME)


_PATIENCE_SECONDS = 5.0
"""A run that is to be parked waits at least so long for what was spooled of it."""
_log = structlog.get_logger(__name__)


class DeepStates:
    """The states of one installation's deep runs; every method does I/O."""

    def __init__(
        self, database: Database, journal: Journal, clock: Callable[[], datetime], approval_seconds: float = 86_400
    ):
        """`approval_seconds`: how long a run waits for a person."""
        self._database = database
        self._journal = journal
        self._clock = clock
        self._approval = timedelta(seconds=approval_seconds)

    async def store(self, run: TaskRun, state: dict[str, Any]) -> None:
        """Keep the state in the place of the one before, with the events that led to it; nothing while the database is
        away. Raises `StaleAttempt`."""
        outage = self._journal.outage
        if outage.is_away or outage.is_spooled(run.task.task_id):
            self._leave_out(run)
            return
        try:
            if not await run.writer.flush_with(lambda tx: _store(tx, run, state)):
                self._leave_out(run)
        except AppError as error:
            if error.code is not ErrorCode.DATABASE_UNAVAILABLE:
                raise
            outage.report_away()
            self._leave_out(run)

    async def last(self, run: TaskRun) -> dict[str, Any] | None:
        """The state that was kept last, by whichever attempt; one with a passage the asker may not read any more is
        forgotten. Raises `AppError` (503)."""
        async with self._database.principal_scope(run.principal) as tx:
            state = await deep_runs.last_state(tx, run.task.task_id)
            if state is None:
                return None
            chunks, files = _sources_in(state)
            if await deep_runs.are_readable(tx, chunks, files):
                return state
            await deep_runs.forget_state(tx, run.task.task_id)
        _log.info("deep_state_forgotten", task_id=run.task.task_id, attempt=run.attempt)
        return None

    async def park(self, run: TaskRun, state: dict[str, Any], plan: dict[str, Any]) -> None:
        """Keep the state, tell `interrupt` and let the run wait for a person, in one durable transaction that ends the
        attempt. Raises `StaleAttempt`, or `AppError` (503) when the database stays away: the next attempt parks it."""
        await self._settle(run)
        expires_at = self._clock() + self._approval
        async with run.writer.ending(), self._database.principal_scope(run.principal) as tx:
            await run.writer.append_in(tx, Interrupt(plan=plan, attempt=run.attempt, expires_at=expires_at))
            await _store(tx, run, state)
            if not await deep_runs.park(tx, run.task.task_id, run.attempt, expires_at):
                raise _lost(run)

    async def _settle(self, run: TaskRun) -> None:
        """What was spooled of the run comes first; it waits for that as long as it may take."""
        left = _PATIENCE_SECONDS
        if run.task.deadline is not None:
            left = max((run.task.deadline - self._clock()).total_seconds(), left)
        outage = self._journal.outage
        if outage.is_spooled(run.task.task_id) and not await outage.is_settled_within(left):
            detail = "The run cannot wait for a decision while the database is away. Try again shortly."
            raise AppError(ErrorCode.DATABASE_UNAVAILABLE, detail, status=503, retry_after_seconds=2)

    def _leave_out(self, run: TaskRun) -> None:
        _log.warning("deep_state_not_kept", task_id=run.task.task_id, attempt=run.attempt)


async def _store(tx: Transaction, run: TaskRun, state: dict[str, Any]) -> None:
    if not await deep_runs.store_state(tx, run.task.task_id, run.attempt, state):
        raise _lost(run)


def _lost(run: TaskRun) -> StaleAttempt:
    return StaleAttempt(f"attempt {run.attempt} no longer holds task {run.task.task_id}")


def _sources_in(state: dict[str, Any]) -> tuple[set[UUID], set[UUID]]:
    """The passages of documents and the own files a state quotes. Log lines have no number of their own and never
    change hands; pages of the web belong to nobody here."""
    chunks, files = set(), set()
    for passage in _passages_in(state):
        match passage.get("authority"):
            case "attachment":
                files.add(UUID(passage["document_id"]))
            case "log" | "web":
                pass
            case _:
                chunks.add(UUID(passage["chunk_id"]))
    return chunks, files


def _passages_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every passage in a JSON value, wherever it stands."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case {"chunk_id": str(), "document_id": str()} as passage:
                yield passage
            case dict() as items:
                waiting += items.values()
            case list() as items:
                waiting += items
            case _:
                pass
