"""How far deep runs have come, kept in the database: the next attempt goes on from there, and a run can wait for a
person without anybody working on it."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import Interrupt
from app.journal import Journal
from app.storage import deep_states, parking
from app.storage.database import Database, Transaction
from app.tasks.run import TaskRun

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

    async def keep(self, run: TaskRun, state: dict[str, Any]) -> None:
        """Keep the state of a run in the place of the one before, in one transaction with the events that tell how it
        came to it.

        While the database is away nothing is kept: the run goes on, and an attempt after it would begin where the last
        kept state ends. Raises `StaleAttempt` when the run was given to somebody else.
        """
        outage = self._journal.outage
        if outage.is_away or outage.is_spooled(run.task.task_id):
            self._leave_out(run)
            return
        try:
            if not await run.writer.flush_with(lambda tx: _keep(tx, run, state)):
                self._leave_out(run)
        except AppError as error:
            if error.code is not ErrorCode.DATABASE_UNAVAILABLE:
                raise
            outage.report_away()
            self._leave_out(run)

    async def last(self, run: TaskRun) -> dict[str, Any] | None:
        """The state that was kept last, by whichever attempt; None when there is none.

        A state with a passage the asker may not read any more, or that was changed since, is forgotten: the run begins
        anew, with what may be read today. Raises `AppError` (503).
        """
        async with self._database.principal_scope(run.principal) as tx:
            state = await deep_states.last(tx, run.task.task_id)
            if state is None:
                return None
            chunks, files = _sources_in(state)
            if await deep_states.are_readable(tx, chunks, files):
                return state
            await deep_states.forget(tx, run.task.task_id)
        _log.info("deep_state_forgotten", task_id=run.task.task_id, attempt=run.attempt)
        return None

    async def park(self, run: TaskRun, state: dict[str, Any], plan: dict[str, Any]) -> None:
        """Keep the state, tell `interrupt` and let the run wait for a person, in one durable transaction; the attempt
        ends with it. See `Approvals` for what follows.

        Raises `StaleAttempt` when the run was given to somebody else, `AppError` (503) when the database stays away:
        then the next attempt parks it.
        """
        await self._settle(run)
        expires_at = self._clock() + self._approval
        async with run.writer.ending(), self._database.principal_scope(run.principal) as tx:
            await run.writer.append_in(tx, Interrupt(plan=plan, attempt=run.attempt, expires_at=expires_at))
            await _keep(tx, run, state)
            if not await parking.park(tx, run.task.task_id, run.attempt, expires_at):
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


async def _keep(tx: Transaction, run: TaskRun, state: dict[str, Any]) -> None:
    if not await deep_states.keep(tx, run.task.task_id, run.attempt, state):
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
