"""What administrators do with the tasks of their tenant: look at figures, stop a run, register one anew.

A run keeps its owner's rights of both days; an administrator lends nobody any.
"""

from datetime import datetime, timedelta
from uuid import UUID, uuid5

from pydantic import AwareDatetime, TypeAdapter

from app.domain.oversight import Failure, Line, Spending, Spent, TaskFigures, Wanted
from app.domain.principal import Principal
from app.domain.record import Record
from app.domain.tasks import NewTask, Task
from app.errors import AppError, ErrorCode
from app.journal import not_found
from app.storage import documents, oversight, tasks, tenants
from app.storage.database import Database
from app.storage.oversight import Place, StoredArrival
from app.storage.paging import cut_page, read_cursor
from app.storage.tenants import User
from app.tasks.queue import Job, queue_of
from app.tasks.registry import TaskRegistry

STOPPED = "stopped by an administrator"
_PLACE: TypeAdapter[Place] = TypeAdapter(tuple[AwareDatetime, UUID, UUID])
_MOST_USERS = 100


class Retry(Record):
    """A run that may be registered anew."""

    owner: Principal
    """With the rights the run was asked with that the owner has to this day."""
    of: Task
    task_id: UUID

    def new_task(self, deadline: datetime | None) -> NewTask:
        """The same request in the same conversation."""
        return NewTask(
            task_id=self.task_id, session_id=self.of.session_id, root_task_id=self.task_id, kind=self.of.kind,
            title=self.of.title, request=self.of.request, deadline=deadline,
        )  # fmt: skip


class Oversight:
    """The tasks of a tenant before its administrators; every method does I/O and needs the role ``admin``, which the
    statements and row security look at again."""

    def __init__(self, database: Database, registry: TaskRegistry, *, is_priced: bool = False):
        """`is_priced`: whether models have prices, so that costs mean something."""
        self._database, self._registry, self._is_priced = database, registry, is_priced

    async def page(
        self, principal: Principal, wanted: Wanted, cursor: str | None, limit: int
    ) -> tuple[tuple[TaskFigures, ...], str | None]:
        """The tenant's tasks, newest first, and the cursor of the next page. Raises `AppError` (422) for a foreign
        cursor."""
        behind = read_cursor(_PLACE, cursor)
        async with self._database.principal_scope(principal) as tx:
            found = await oversight.page(tx, wanted, behind, limit + 1)
        return cut_page(_PLACE, found, limit, lambda last: (last.created_at, last.task_id, last.user_id))

    async def find(self, principal: Principal, task_id: UUID) -> TaskFigures:
        """The figures of one task. Raises `AppError` (404) for what is no task of the tenant."""
        async with self._database.principal_scope(principal) as tx:
            found = await oversight.find(tx, task_id)
        if found is None:
            raise not_found()
        return found

    async def lines(self, principal: Principal) -> list[Line]:
        """The queues that hold jobs of the tenant, by the names people give them."""
        async with self._database.principal_scope(principal) as tx:
            found = await oversight.lines(tx)
        return [one.model_copy(update={"line": queue_of(one.line)}) for one in found]

    async def failures(self, principal: Principal, since: datetime) -> list[Failure]:
        """What steps failed with since then, the latest first."""
        async with self._database.principal_scope(principal) as tx:
            return list(await oversight.failures(tx, since))

    async def spending(self, principal: Principal, now: datetime, days: int) -> Spending:
        """What the tenant asked of models today and on the days before it, `days` in all; days are UTC."""
        since = (now - timedelta(days=days - 1)).date()
        async with self._database.principal_scope(principal) as tx:
            by_day = await oversight.by_day(tx, since)
            by_user, count = await oversight.by_user(tx, since, _MOST_USERS)
        total = Spent(**{name: sum(getattr(day, name) for day in by_day) for name in Spent.model_fields})
        return Spending(
            since=since, until=now.date(), is_priced=self._is_priced or total.cost_micros > 0, total=total,
            days=tuple(by_day), users=tuple(by_user), user_count=count,
        )  # fmt: skip

    async def people(self, principal: Principal) -> list[User]:
        """The people of the tenant that are written down, by name."""
        async with self._database.principal_scope(principal) as tx:
            return await tenants.users(tx, principal.tenant_id)

    async def stop(self, principal: Principal, task_id: UUID) -> TaskFigures:
        """Stop the run a task belongs to. Idempotent. Raises `AppError` (404) for what is no task of the tenant."""
        found = await self.find(principal, task_id)
        run = found if found.is_run else await self.find(principal, found.root_task_id)
        if not run.status.is_terminal:
            await self._note(principal, "stop_task", run)
            await self._registry.cancel(_owner_of(principal, run), run.task_id, STOPPED)
        return await self.find(principal, task_id)

    async def retry(self, principal: Principal, task_id: UUID) -> Retry:
        """What to register so that a run is done anew. Raises `AppError`: 404 for what is no task of the tenant, 409
        for a run that cannot be retried, 403 when its owner has lost the rights it was asked with."""
        found = await self.find(principal, task_id)
        if not found.can_be_retried_by(principal.user_id):
            detail = "Only a run that failed or was stopped by somebody else than its owner can be run anew."
            raise AppError(ErrorCode.CONFLICT_IN_FLIGHT, detail, status=409)
        async with self._database.principal_scope(principal) as tx:
            today = await tenants.user(tx, principal.tenant_id, found.user_id)
        run = await self._registry.get_task(_owner_of(principal, found), task_id)
        assert run.principal is not None  # root tasks keep theirs
        owner = run.principal if today is None else _still_held(run.principal, today.principal())
        return Retry(owner=owner, of=run, task_id=uuid5(task_id, "retry"))

    async def note_retry(self, principal: Principal, task_id: UUID) -> None:
        """Write to the audit that the administrator wants a run anew."""
        await self._note(principal, "retry_task", await self.find(principal, task_id))

    async def known(self, wanted: Retry) -> Task | None:
        """The run that was registered for this retry before."""
        async with self._database.principal_scope(wanted.owner) as tx:
            return await tasks.find(tx, wanted.task_id)

    async def arrival(self, owner: Principal, task_id: UUID) -> StoredArrival:
        """What the ingestion of a task was given. Raises `AppError` (409) when that is gone or out of date."""
        async with self._database.principal_scope(owner) as tx:
            found = await oversight.arrival(tx, task_id)
        if found is None or not found.is_latest:
            detail = "What was brought in then is gone, or a newer version came since: bring the document in again."
            raise AppError(ErrorCode.CONFLICT_IN_FLIGHT, detail, status=409)
        return found

    async def _note(self, principal: Principal, action: str, run: TaskFigures) -> None:
        """Before the act: what stands in the audit was at least meant."""
        async with self._database.principal_scope(principal) as tx:
            await documents.note(tx, action, str(run.task_id), {"owner": str(run.user_id), "kind": run.kind})


def _still_held(kept: Principal, today: Principal) -> Principal:
    """The rights a run was asked with, without those its owner lost since. Raises `AppError` (403) when the department
    or every scope is among them."""
    held = kept.limited_to(today)
    if not held.scopes or kept.department not in today.departments:
        detail = "The owner of this run has lost the rights it was asked with; only the owner can ask again."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
    return held


def _owner_of(principal: Principal, found: TaskFigures) -> Principal:
    return Job(tenant_id=principal.tenant_id, user_id=found.user_id, task_id=found.task_id).owner
