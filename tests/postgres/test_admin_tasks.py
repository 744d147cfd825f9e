"""What administrators see of their tenant's tasks, and what they do with them: figures, stopping, doing anew."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.oversight import OWNER_STOPPED, TaskFigures, Wanted
from app.domain.principal import Principal, Scope
from app.domain.tasks import TaskKind, TaskStatus
from app.errors import AppError, ErrorCode
from app.events import TaskCancelled, TaskFailed
from app.storage import tenants
from app.storage.database import Database
from app.tasks.oversight import STOPPED, Oversight
from app.tasks.run import TaskRun
from tests.factories import principal
from tests.postgres.running import JANE, LAN, MINH, Rooms, rooms_on, step_of

ADMIN = principal(user="admin", department="general", scopes=("public",), roles=("admin",))
OTHER_ADMIN = principal("globex", "admin", roles=("admin",))
SECRET = "lương của giám đốc"
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture(scope="module")
async def rooms(database: Database) -> Rooms:
    return rooms_on(database)


@pytest.fixture(scope="module")
def oversight(database: Database, rooms: Rooms) -> Oversight:
    return Oversight(database, rooms.registry)


@pytest.fixture
async def nothing_else(superuser: Connection) -> None:
    await superuser.execute("delete from sessions")
    await superuser.execute("delete from pgqueuer")
    await superuser.execute("delete from users")


async def failed(rooms: Rooms, who: Principal = LAN, query: str = SECRET, **changes: Any) -> TaskRun:
    """A run that ended without an answer."""
    task = await rooms.register(who, query, **changes)
    run = await rooms.resume(task.task_id, who)
    answer = {"error": True, "error_code": "AGENT_EXECUTION_FAILED", "error_message": SECRET, "outcome": "failed"}
    await rooms.registry.finish(
        run, status=TaskStatus.FAILED, result=answer, metadata={"outcome": "failed"}, error_message=SECRET,
        event=TaskFailed(answer=answer),
    )  # fmt: skip
    return run


async def every(oversight: Oversight, who: Principal, wanted: Wanted, limit: int) -> list[TaskFigures]:
    found: list[TaskFigures] = []
    cursor: str | None = None
    while True:
        page, cursor = await oversight.page(who, wanted, cursor, limit)
        found += page
        if cursor is None:
            return found


async def known(database: Database, maintenance_url: str, who: Principal) -> None:
    """Write a person down with these rights."""
    operator = await Database.connect(maintenance_url, pool_size=2)
    try:
        async with operator.operator_scope() as tx:
            await tx.driver.execute(
                "insert into tenants (tenant_id, name) values ($1, $1::uuid::text) on conflict do nothing",
                who.tenant_id,
            )
            await tenants.add_user(
                tx, who.tenant_id, who.name, department=who.department, departments=who.departments, scopes=who.scopes,
                roles=who.roles,
            )  # fmt: skip
    finally:
        await operator.dispose()


class TestListing:
    @pytest.mark.parametrize("seed", range(4))
    async def test_pages_through_every_run_of_the_tenant_and_none_of_another(
        self, rooms: Rooms, oversight: Oversight, nothing_else: None, seed: int
    ) -> None:
        chance = Random(seed)
        kinds: tuple[TaskKind, ...] = ("chat", "ingest")
        made: dict[UUID, tuple[Principal, TaskKind, TaskStatus]] = {}
        for _ in range(20):
            who = chance.choice((LAN, MINH, ADMIN, JANE))
            kind = chance.choice(kinds)
            request = {"document_id": str(uuid4())} if kind == "ingest" else {"query": SECRET}
            task = await rooms.register(who, kind=kind, request=request)
            status = chance.choice((TaskStatus.PENDING, TaskStatus.CANCELLED))
            if status is TaskStatus.CANCELLED:
                await rooms.registry.cancel(who, task.task_id)
            made[task.task_id] = (who, kind, status)
        for admin in (ADMIN, OTHER_ADMIN):
            own = {one: facts for one, facts in made.items() if facts[0].tenant_id == admin.tenant_id}
            found = await every(oversight, admin, Wanted(), chance.randint(1, 7))
            assert len(found) == len(own) and {one.task_id for one in found} == own.keys()
            assert [one.created_at for one in found] == sorted((one.created_at for one in found), reverse=True)
            for status in (TaskStatus.PENDING, TaskStatus.CANCELLED, TaskStatus.FAILED):
                for kind in kinds:
                    for who in (LAN, MINH, JANE):
                        wanted = Wanted(status=status, kind=kind, user_id=who.user_id)
                        listed = {one.task_id for one in await every(oversight, admin, wanted, 3)}
                        assert listed == {one for one, facts in own.items() if facts == (who, kind, status)}

    @pytest.mark.parametrize("who", [LAN, JANE, principal(roles=("administrator",))])
    async def test_of_anybody_else_is_empty(self, rooms: Rooms, oversight: Oversight, who: Principal) -> None:
        own = await rooms.register(who)
        assert await oversight.page(who, Wanted(), None, 10) == ((), None)
        assert await oversight.lines(who) == []
        assert await oversight.failures(who, datetime(2000, 1, 1, tzinfo=UTC)) == []
        for act in (oversight.stop, oversight.retry):
            with pytest.raises(AppError) as refused:
                await act(who, own.task_id)
            assert refused.value.code is ErrorCode.NOT_FOUND

    async def test_holds_figures_and_not_a_word(
        self, rooms: Rooms, oversight: Oversight, database: Database, maintenance_url: str
    ) -> None:
        await known(database, maintenance_url, LAN)
        run = await failed(rooms)
        steps = [step_of(run.task, SECRET), step_of(run.task, SECRET)]
        [found] = [one for one in await every(oversight, ADMIN, Wanted(), 50) if one.task_id == run.task.task_id]
        assert SECRET not in found.model_dump_json() and steps
        assert (found.user, found.status, found.attempt, found.holder) == ("lan", TaskStatus.FAILED, 1, "test")
        assert (found.outcome, found.error_code, found.error_message) == ("failed", "AGENT_EXECUTION_FAILED", None)

    async def test_steps_are_counted_and_listed_when_asked_for(self, rooms: Rooms, oversight: Oversight) -> None:
        run = await rooms.begin()
        await rooms.registry.steps.register(run, [step_of(run.task), step_of(run.task)])
        found = await oversight.find(ADMIN, run.task.task_id)
        assert (found.steps, found.steps_done, found.is_lost) == (2, 0, False)
        listed = await every(oversight, ADMIN, Wanted(kind="step"), 50)
        assert {one.root_task_id for one in listed} >= {run.task.task_id}
        assert all(one.agent == "hr" and not one.can_be_stopped for one in listed)
        await rooms.expire(run)
        assert (await oversight.find(ADMIN, run.task.task_id)).is_lost

    async def test_a_cursor_that_is_none_is_refused(self, oversight: Oversight) -> None:
        with pytest.raises(AppError, match="cursor"):
            await oversight.page(ADMIN, Wanted(), "eHg=", 10)


class TestLines:
    async def test_count_jobs_of_the_tenant_alone(self, rooms: Rooms, oversight: Oversight, nothing_else: None) -> None:
        for who in (LAN, MINH, JANE):
            await rooms.register(who)
        await rooms.register(LAN, kind="ingest", request={"document_id": str(uuid4())})
        found = {one.line: one for one in await oversight.lines(ADMIN)}
        assert {line: (one.waiting, one.running) for line, one in found.items()} == {"chat": (2, 0), "ingest": (1, 0)}
        assert all(one.oldest is not None for one in found.values())
        assert [(one.line, one.waiting) for one in await oversight.lines(OTHER_ADMIN)] == [("chat", 1)]


class TestFailures:
    async def test_are_counted_by_agent_tool_and_code(
        self, rooms: Rooms, oversight: Oversight, superuser: Connection, nothing_else: None
    ) -> None:
        run = await rooms.begin()
        steps = [step_of(run.task) for _ in range(3)]
        await rooms.registry.steps.register(run, steps)
        for step, error_type in zip(steps, ("timeout", "tool_failed", "exception"), strict=True):
            claimed = await rooms.registry.claim_task(LAN, step.task_id, "test")
            assert claimed is not None
            result = {"tool": "rag_tool", "error_type": error_type, "answer": SECRET}
            await rooms.registry.update_status(
                LAN, step.task_id, claimed.attempt, TaskStatus.FAILED, result=result, error_message=SECRET
            )
        since = datetime.now(UTC) - timedelta(hours=1)
        found = await oversight.failures(ADMIN, since)
        assert {(one.agent, one.tool, one.code): one.count for one in found} == {
            ("hr", "rag_tool", "TOOL_FAILED"): 2, ("hr", "rag_tool", "TOOL_TIMEOUT"): 1,
        }  # fmt: skip
        assert await oversight.failures(OTHER_ADMIN, since) == []
        assert await oversight.failures(ADMIN, datetime.now(UTC) + timedelta(hours=1)) == []


class TestStopping:
    async def test_ends_the_run_tells_its_owner_and_stands_in_the_audit(
        self, rooms: Rooms, oversight: Oversight, superuser: Connection
    ) -> None:
        run = await rooms.begin()
        step = step_of(run.task)
        await rooms.registry.steps.register(run, [step])
        stopped = await oversight.stop(ADMIN, step.task_id)
        assert stopped.status is TaskStatus.CANCELLED
        assert (await rooms.registry.get_task(LAN, run.task.task_id)).status is TaskStatus.CANCELLED
        assert (await rooms.entries(run.task.task_id))[-1].event == TaskCancelled(reason=STOPPED)
        rows = await superuser.fetch(
            "select * from audit where target = $1 and action = 'stop_task'", str(run.task.task_id)
        )
        assert [(row["user_id"], row["action"]) for row in rows] == [(ADMIN.user_id, "stop_task")]
        assert rows[0]["details"] == f'{{"kind": "chat", "owner": "{LAN.user_id}"}}'
        assert (await oversight.stop(ADMIN, run.task.task_id)).status is TaskStatus.CANCELLED
        assert (
            await superuser.fetchval(
                "select count(*) from audit where target = $1 and action = 'stop_task'", str(run.task.task_id)
            )
            == 1
        )

    async def test_of_another_tenant_or_nobody_is_answered_alike(self, rooms: Rooms, oversight: Oversight) -> None:
        run = await rooms.begin()
        told = []
        for task_id in (run.task.task_id, uuid4()):
            with pytest.raises(AppError) as refused:
                await oversight.stop(OTHER_ADMIN, task_id)
            told.append((refused.value.code, str(refused.value)))
        assert told[0] == told[1]
        assert (await rooms.registry.get_task(LAN, run.task.task_id)).status is TaskStatus.IN_PROGRESS


class TestDoingAnew:
    async def test_is_the_same_request_in_the_owners_name_and_rights(
        self, rooms: Rooms, oversight: Oversight, nothing_else: None
    ) -> None:
        run = await failed(rooms)
        for _ in range(2):
            wanted = await oversight.retry(ADMIN, run.task.task_id)
            task = await rooms.registry.register_task(wanted.owner, wanted.new_task(None))
            assert task.task_id == wanted.task_id != run.task.task_id
            assert (task.request, task.session_id) == (run.task.request, run.task.session_id)
            assert task.principal == run.task.principal == LAN
        assert len(await every(oversight, ADMIN, Wanted(user_id=LAN.user_id), 50)) == 2

    async def test_at_once_by_many_makes_one_run(self, rooms: Rooms, oversight: Oversight) -> None:
        run = await failed(rooms)

        async def again() -> UUID:
            wanted = await oversight.retry(ADMIN, run.task.task_id)
            return (await rooms.registry.register_task(wanted.owner, wanted.new_task(None))).task_id

        assert len(set(await asyncio.gather(*(again() for _ in range(8))))) == 1

    @pytest.mark.parametrize("seed", range(6))
    async def test_never_widens_what_the_owner_may_read(
        self,
        rooms: Rooms,
        oversight: Oversight,
        database: Database,
        maintenance_url: str,
        nothing_else: None,
        seed: int,
    ) -> None:
        """Whatever the run was asked with, and whatever its owner has today: both have all that is used."""
        chance = Random(seed)
        for number in range(4):
            name = f"someone-{seed}-{number}"
            kept, today = (_some_rights(chance, name) for _ in range(2))
            run = await failed(rooms, kept)
            await known(database, maintenance_url, today)
            try:
                owner = (await oversight.retry(ADMIN, run.task.task_id)).owner
            except AppError as refused:
                assert refused.code is ErrorCode.PERMISSION_DENIED
                assert not kept.scopes & today.scopes or kept.department not in kept.departments & today.departments
                continue
            for most in (kept, today):
                assert owner.scopes <= most.scopes and owner.departments <= most.departments
                assert owner.roles <= most.roles
            assert (owner.tenant_id, owner.user_id, owner.department) == (kept.tenant_id, kept.user_id, kept.department)

    async def test_is_refused_for_runs_that_go_on_were_answered_or_stopped_by_their_owner(
        self, rooms: Rooms, oversight: Oversight
    ) -> None:
        going, answered, stopped = await rooms.begin(), await rooms.begin(), await rooms.begin()
        await rooms.complete(answered)
        await rooms.registry.cancel(LAN, stopped.task.task_id)
        assert (await rooms.registry.get_task(LAN, stopped.task.task_id)).error_message == OWNER_STOPPED
        for run in (going, answered, stopped):
            with pytest.raises(AppError) as refused:
                await oversight.retry(ADMIN, run.task.task_id)
            assert (refused.value.code, refused.value.status) == (ErrorCode.CONFLICT_IN_FLIGHT, 409)
        own = await rooms.begin(ADMIN)
        await rooms.registry.cancel(ADMIN, own.task.task_id)
        assert (await oversight.retry(ADMIN, own.task.task_id)).owner == ADMIN

    async def test_of_another_tenant_is_answered_like_an_unknown_one(self, rooms: Rooms, oversight: Oversight) -> None:
        run = await failed(rooms)
        for task_id in (run.task.task_id, uuid4()):
            with pytest.raises(AppError) as refused:
                await oversight.retry(OTHER_ADMIN, task_id)
            assert refused.value.code is ErrorCode.NOT_FOUND


def _some_rights(chance: Random, name: str) -> Principal:
    every: tuple[Scope, ...] = ("public", "internal", "private")
    departments = frozenset(chance.sample(("hr", "it", "general"), chance.randint(1, 3)))
    scopes = chance.sample(every, chance.randint(1, 3))
    roles = ("admin",) if chance.random() < 0.3 else ()
    made = principal(user=name, department=chance.choice(sorted(departments)), scopes=tuple(scopes), roles=roles)
    return made.model_copy(update={"departments": departments})
