"""The door while the database is away: who may still ask, and what."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID, uuid4, uuid5

from app.domain.principal import Principal
from app.domain.tasks import ChatRequest, NewTask
from app.errors import AppError, ErrorCode
from app.flow.offline import OfflineFlow
from app.journal.outage import Outage
from app.tasks.offline import OfflineRuns


@dataclass(frozen=True)
class StartedRun:
    """A registered root task, and as whom it runs."""

    principal: Principal
    task_id: UUID
    session_id: UUID
    is_repeated: bool
    """The Idempotency-Key named a run that existed already."""
    deadline_ms: int
    """How long it may take."""


class OfflineDoor:
    """Takes chitchat and pure questions without the database; everything else is refused as it always was."""

    def __init__(self, outage: Outage, flow: OfflineFlow, runs: OfflineRuns):
        self._outage, self._flow, self._runs = outage, flow, runs

    async def unless_away(self, register: Callable[[], Awaitable[StartedRun]]) -> StartedRun | None:
        """What `register` gives; None when the database is away. It may have been done all the same."""
        if self._outage.is_away:
            return None
        try:
            return await register()
        except AppError as error:
            if error.code is not ErrorCode.DATABASE_UNAVAILABLE or not self._outage.can_wait:
                raise
            self._outage.report_away()
            return None

    async def begin(
        self, run: StartedRun, new_task: NewTask, idempotency_key: str | None, request_hash: str
    ) -> StartedRun:
        """Begin the run in this process. Raises `AppError` (503) for what cannot be answered without the database."""
        await self._flow.demand_pure(run.principal, ChatRequest.model_validate(new_task.request))
        await self._runs.begin(run.principal, new_task, idempotency_key, request_hash)
        return run


def ids_for(
    principal: Principal, idempotency_key: str | None, request_hash: str, session_id: UUID | None
) -> tuple[UUID, UUID]:
    """Task and session of a question. The same key and request name the same task, with and without the database: a
    registration nobody heard the reply of and its repetition meet in one row."""
    if idempotency_key is None:
        return uuid4(), session_id or uuid4()
    task_id = uuid5(principal.user_id, f"{principal.tenant_id} {idempotency_key} {request_hash}")
    return task_id, session_id or uuid5(task_id, "session")
