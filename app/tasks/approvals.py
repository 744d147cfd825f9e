"""Decisions of people their runs wait for: a plan is approved or refused, or nobody decides in time."""

from typing import Any, Protocol
from uuid import UUID

from app.domain.principal import Principal
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.events import Event, RenavigateRequest, VerificationDone
from app.journal import Journal, not_found
from app.journal.messages import Place
from app.journal.spool_records import json_of
from app.storage import deep_states, documents, events, parking
from app.storage.database import Database, Transaction
from app.storage.parking import Parked
from app.tasks.ending import stop_run
from app.tasks.queue import JobQueue

REFUSED = "The plan was not approved."
NOT_IN_TIME = "The plan was not approved in time."
_NODE = "planner"
Told = tuple[Place, int, Event]
"""What is told on the bus once it is committed."""


class Decision(Record):
    """What a person says about a plan."""

    approved: bool
    feedback: str = ""
    """What to plan differently; a plan that is refused without a word is not made again."""
    attempt: int | None = None
    """The `Interrupt` this answers; None = whichever there is."""


class Decided(Protocol):
    """Puts a decision into the state of a parked run."""

    def __call__(self, state: dict[str, Any], *, approved: bool, feedback: str = "") -> dict[str, Any]:
        """The state to go on from. Raises ``ValueError`` for a state this version cannot read."""


class Approvals:
    """What parked runs wait for; every method does I/O."""

    def __init__(self, database: Database, journal: Journal, queue: JobQueue, decided: Decided):
        self._database = database
        self._journal = journal
        self._queue = queue
        self._decided = decided

    async def decide(self, principal: Principal, task_id: UUID, decision: Decision) -> None:
        """Let a parked run go on, plan again, or end; the same decision again changes nothing.

        Raises `AppError`: 404 for what is no run of the caller, CONFLICT_IN_FLIGHT (409) when it waits for no such
        decision.
        """
        async with self._database.principal_scope(principal) as tx:
            parked = await parking.lock(tx, task_id)
            if parked is None:
                raise not_found()
            if not _is_asked(parked, decision):
                return
            told = await self._write(tx, task_id, parked, decision)
        if told is not None:
            await self._journal.tell(*told)

    async def _write(self, tx: Transaction, task_id: UUID, parked: Parked, decision: Decision) -> Told | None:
        said = {**decision.model_dump(), "attempt": parked.attempt}
        await parking.note(tx, task_id, said)
        await documents.note(
            tx, "approve_plan" if decision.approved else "refuse_plan", str(task_id), {"attempt": parked.attempt}
        )
        if not decision.approved and not decision.feedback:
            return await stop_run(tx, task_id, REFUSED)
        await self._change(tx, task_id, decision)
        await parking.resume(tx, task_id)
        await self._queue.enqueue(tx, task_id)
        event = _event_of(decision)
        seq = await events.append_next(tx, task_id, parked.attempt, event.type, json_of(event))
        return Place.of(tx.principal, parked.session_id, task_id, parked.attempt), seq, event

    async def _change(self, tx: Transaction, task_id: UUID, decision: Decision) -> None:
        """Put the decision into the state. One that a newer version cannot read any more is dropped: the plan is made
        anew, and asked about again."""
        try:
            state = await deep_states.last(tx, task_id)
            if state is not None:
                state = self._decided(state, approved=decision.approved, feedback=decision.feedback)
                await deep_states.change(tx, task_id, state)
        except ValueError:
            await deep_states.forget(tx, task_id)


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


async def give_up(tx: Transaction, task_id: UUID) -> Told | None:
    """Cancel a run that waited for too long; None when it does not any more."""
    parked = await parking.lock(tx, task_id)
    if parked is None or not parked.waits or not parked.is_late:
        return None
    return await stop_run(tx, task_id, NOT_IN_TIME)
