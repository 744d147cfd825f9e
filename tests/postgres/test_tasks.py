"""The registry: registering, claiming, finishing, cancelling; who may do what, and only once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import asyncpg
import pytest

from app.domain.principal import Principal
from app.domain.tasks import TaskStatus
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import TaskAvailable, TaskCancelled
from app.storage import audit, documents
from app.storage import tasks as task_rows
from app.storage.database import Database
from tests.factories import principal
from tests.postgres.running import JANE, LAN, MINH, Rooms, new_task, rooms_on, say, step_of

BOSS = principal(user="boss", department="general", roles=("admin",))


@pytest.fixture(scope="module")
def rooms(database: Database) -> Rooms:
    return rooms_on(database)


async def _jobs(superuser: "asyncpg.Connection[asyncpg.Record]", task_id: object) -> int:
    query = "select count(*) from pgqueuer where convert_from(payload, 'UTF8')::jsonb ->> 'task_id' = $1"
    count: int = await superuser.fetchval(query, str(task_id))
    return count


@pytest.fixture
async def unbound(superuser_url: str) -> AsyncIterator[Database]:
    """A pool whose role no row policy binds: what it does not see, the statement alone kept back."""
    opened = await Database.connect(superuser_url, pool_size=2)
    yield opened
    await opened.dispose()


class TestWithoutRowSecurity:
    """Every statement names whose rows it is about; row security is the second lock, not the only one."""

    async def test_a_task_is_found_by_its_owner_and_an_administrator_alone(
        self, rooms: Rooms, unbound: Database
    ) -> None:
        run = await rooms.begin()
        await rooms.registry.steps.register(run, [step_of(run.task, "step")])
        foreign_boss = principal("globex", "boss", "general", roles=("admin",))
        for who, sees in ((LAN, True), (BOSS, True), (MINH, False), (JANE, False), (foreign_boss, False)):
            async with unbound.principal_scope(who) as tx:
                assert (await task_rows.find(tx, run.task.task_id) is not None) == sees, who.name
                assert len(await task_rows.children_of(tx, run.task.task_id)) == sees, who.name

    async def test_the_audit_is_shown_to_administrators_and_auditors_of_the_tenant_alone(
        self, database: Database, unbound: Database
    ) -> None:
        async with database.principal_scope(LAN) as tx:
            await documents.note(tx, "looked", "here", {})
        foreign_boss = principal("globex", "boss", "general", roles=("admin",))
        auditor, foreign = (principal(one, "eye", "general", (), ("auditor",)) for one in ("acme", "globex"))
        sees_all = ((BOSS, True), (auditor, True), (LAN, False), (JANE, False), (foreign_boss, False), (foreign, False))
        for who, sees in sees_all:
            async with unbound.principal_scope(who) as tx:
                found = await audit.page(tx, audit.Wanted(action="looked"), None, 10)
            assert [entry.target for entry in found] == ["here"] * sees, who.name

    async def test_of_two_tasks_with_one_id_everybody_finds_the_own(self, rooms: Rooms, unbound: Database) -> None:
        new = new_task("shared")
        for who in (LAN, MINH, JANE):
            await rooms.registry.register_task(who, new)
        for who in (LAN, MINH, JANE):
            async with unbound.principal_scope(who) as tx:
                found = await task_rows.find(tx, new.task_id)
            assert found is not None and found.principal == who


class TestRegister:
    async def test_writes_task_session_first_event_and_job_together(
        self, rooms: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        task = await rooms.register(query="Nghỉ phép mấy ngày?")
        assert (task.status, task.attempt, task.principal) == (TaskStatus.PENDING, 0, LAN)
        [first] = await rooms.journal.read(LAN, task.task_id)
        assert first.event == TaskAvailable(
            task_id=task.task_id, session_id=task.session_id, query="Nghỉ phép mấy ngày?"
        )
        assert await _jobs(superuser, task.task_id) == 1
        assert await superuser.fetchval("select title from sessions where session_id = $1", task.session_id)

    async def test_writes_nothing_when_the_job_cannot_be_written(
        self, rooms: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        new = new_task()
        await superuser.execute("alter table pgqueuer rename to pgqueuer_away")
        try:
            with pytest.raises(asyncpg.UndefinedTableError):
                await rooms.registry.register_task(LAN, new)
        finally:
            await superuser.execute("alter table pgqueuer_away rename to pgqueuer")
        with pytest.raises(AppError, match="no such task"):
            await rooms.registry.get_task(LAN, new.task_id)
        assert await superuser.fetchval("select count(*) from sessions where session_id = $1", new.session_id) == 0

    async def test_gives_the_same_task_for_the_same_id_and_request(
        self, rooms: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        new = new_task("same")
        tasks = await asyncio.gather(*(rooms.registry.register_task(LAN, new) for _ in range(8)))
        assert {task.task_id for task in tasks} == {new.task_id}
        assert await _jobs(superuser, new.task_id) == 1

    async def test_refuses_a_task_id_that_another_request_took(self, rooms: Rooms) -> None:
        new = new_task("one")
        await rooms.registry.register_task(LAN, new)
        with pytest.raises(AppError) as refusal:
            await rooms.registry.register_task(LAN, new.model_copy(update={"request": {"query": "two"}}))
        assert refusal.value.code is ErrorCode.CONFLICT_IN_FLIGHT

    async def test_registers_all_steps_at_once(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        steps = [step_of(run.task, f"step {number}") for number in range(5)]
        await rooms.registry.steps.register(run, steps)
        await rooms.registry.steps.register(run, [])
        children = await rooms.registry.children(LAN, run.task.task_id)
        assert {child.task_id for child in children} == {step.task_id for step in steps}
        assert {(child.status, child.principal) for child in children} == {(TaskStatus.PENDING, None)}

    async def test_refuses_a_step_under_somebody_elses_task(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        foreign = replace(run, principal=MINH)
        with pytest.raises(StaleAttempt):
            await rooms.registry.steps.register(foreign, [step_of(run.task)])
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            async with rooms.database.principal_scope(MINH) as tx:
                await tx.driver.execute(
                    task_rows.ROWS.format(source=""), *tx.whose, *task_rows.row_columns(tx, [step_of(run.task)])
                )

    async def test_registers_no_steps_of_a_run_that_was_lost(self, rooms: Rooms) -> None:
        late = await rooms.begin()
        await rooms.expire(late)
        run = await rooms.resume(late.task.task_id)
        with pytest.raises(StaleAttempt):
            await rooms.registry.steps.register(late, [step_of(run.task, "late")])
        await rooms.registry.steps.register(run, [step_of(run.task, "in time")])
        await rooms.complete(run)
        for leader in (late, run):
            with pytest.raises(StaleAttempt):
                await rooms.registry.steps.register(leader, [step_of(run.task, "after the end")])
        children = await rooms.registry.children(LAN, run.task.task_id)
        assert [(child.title, child.status) for child in children] == [("in time", TaskStatus.CANCELLED)]


class TestIdempotency:
    async def test_gives_one_task_to_many_requests_at_once(
        self, rooms: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        key = uuid4().hex
        tasks = await asyncio.gather(
            *(
                rooms.registry.register_task(LAN, new_task("once"), idempotency_key=key, request_hash="h")
                for _ in range(20)
            )
        )
        [task_id] = {task.task_id for task in tasks}
        assert await _jobs(superuser, task_id) == 1
        assert await superuser.fetchval("select count(*) from tasks where title = 'once'") == 1

    async def test_refuses_the_key_with_another_request(self, rooms: Rooms) -> None:
        await rooms.registry.register_task(LAN, new_task(), idempotency_key="k", request_hash="one")
        with pytest.raises(AppError) as refusal:
            await rooms.registry.register_task(LAN, new_task(), idempotency_key="k", request_hash="two")
        assert (refusal.value.code, refusal.value.status) == (ErrorCode.IDEMPOTENCY_MISMATCH, 422)

    async def test_lets_everybody_use_the_same_key(self, rooms: Rooms) -> None:
        tasks = [
            await rooms.registry.register_task(who, new_task(), idempotency_key="mine", request_hash=who.name)
            for who in (LAN, MINH, JANE)
        ]
        assert len({task.task_id for task in tasks}) == 3

    async def test_frees_the_key_when_registering_fails(self, rooms: Rooms) -> None:
        taken = new_task("taken")
        await rooms.registry.register_task(LAN, taken)
        other = taken.model_copy(update={"request": {"query": "other"}})
        with pytest.raises(AppError):
            await rooms.registry.register_task(LAN, other, idempotency_key="free", request_hash="a")
        task = await rooms.registry.register_task(LAN, new_task(), idempotency_key="free", request_hash="b")
        assert task.status is TaskStatus.PENDING


class TestClaim:
    async def test_gives_a_task_to_exactly_one_of_many(self, rooms: Rooms) -> None:
        task = await rooms.register()
        claims = await asyncio.gather(
            *(rooms.registry.claim_task(LAN, task.task_id, f"agent-{number}") for number in range(10))
        )
        assert [claimed.attempt for claimed in claims if claimed is not None] == [1]

    async def test_returns_none_while_the_lease_is_held_and_the_next_attempt_after_it(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        assert await rooms.registry.claim_task(LAN, run.task.task_id, "other") is None
        assert await rooms.registry.renew_lease(LAN, run.task.task_id, run.attempt)
        await rooms.expire(run)
        again = await rooms.registry.claim_task(LAN, run.task.task_id, "other")
        assert again is not None and again.attempt == 2
        assert not await rooms.registry.renew_lease(LAN, run.task.task_id, run.attempt)

    async def test_returns_none_when_the_task_has_ended(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        await rooms.complete(run)
        assert await rooms.registry.claim_task(LAN, run.task.task_id, "other") is None

    @pytest.mark.parametrize("who", [MINH, JANE, BOSS], ids=lambda who: who.name)
    async def test_returns_none_for_everybody_else(self, rooms: Rooms, who: Principal) -> None:
        task = await rooms.register()
        assert await rooms.registry.claim_task(who, task.task_id, "thief") is None

    async def test_tells_how_long_a_held_task_stays_held(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        left = await rooms.registry.lease_remaining(LAN, run.task.task_id)
        assert left is not None
        assert 20 < left <= 30
        await rooms.complete(run)
        assert await rooms.registry.lease_remaining(LAN, run.task.task_id) is None


class TestFence:
    async def test_refuses_every_write_of_an_older_attempt(self, rooms: Rooms) -> None:
        old = await rooms.begin()
        await rooms.expire(old)
        new = await rooms.resume(old.task.task_id)
        with pytest.raises(StaleAttempt):
            await rooms.registry.steps.register(old, [], plan={"late": True})
        with pytest.raises(StaleAttempt):
            await rooms.registry.update_status(LAN, old.task.task_id, old.attempt, TaskStatus.FAILED)
        with pytest.raises(StaleAttempt):
            await rooms.complete(old, "late")
        await rooms.registry.steps.register(new, [], plan={"tiers": 1})
        await rooms.complete(new, "right")
        task = await rooms.registry.get_task(LAN, new.task.task_id)
        assert (task.result or {})["answer"] == "right"
        assert task.plan == {"tiers": 1}

    @pytest.mark.parametrize(
        "statement",
        [
            "update tasks set status = 'pending' where task_id = $1",
            "update tasks set status = 'completed' where task_id = $1",
            "update tasks set status = 'failed' where task_id = $1",
            "update tasks set status = 'in_progress', attempt = attempt - 1 where task_id = $1",
        ],
    )
    async def test_keeps_the_order_of_states_in_the_database_too(
        self, rooms: Rooms, statement: str, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        run = await rooms.begin()
        if "attempt" not in statement and "pending" not in statement:
            await rooms.registry.cancel(LAN, run.task.task_id)
        with pytest.raises(asyncpg.CheckViolationError):
            await superuser.execute(statement, run.task.task_id)


class TestFinish:
    async def test_ends_run_steps_and_session_in_one_commit(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        done, open_step = step_of(run.task, "done"), step_of(run.task, "open")
        await rooms.registry.steps.register(run, [done, open_step])
        claimed = await rooms.registry.claim_task(LAN, done.task_id, "hr")
        assert claimed is not None and claimed.attempt == 1
        await rooms.registry.update_status(LAN, done.task_id, 1, TaskStatus.COMPLETED, result={"answer": "x"})
        say(run, "last words")
        await rooms.complete(run, "12 ngày")
        states = {child.title: child.status for child in await rooms.registry.children(LAN, run.task.task_id)}
        assert states == {"done": TaskStatus.COMPLETED, "open": TaskStatus.CANCELLED}
        task = await rooms.registry.get_task(LAN, run.task.task_id)
        assert (task.status, task.metadata, task.flow_action) == (TaskStatus.COMPLETED, {"outcome": "answered"}, [])
        assert task.completed_at is not None
        entries = await rooms.entries(run.task.task_id)
        assert [entry.event.type for entry in entries] == ["task_available", "text_delta", "final_report"]

    async def test_happens_once(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        await rooms.complete(run)
        with pytest.raises(StaleAttempt):
            await rooms.complete(run)


class TestCancel:
    async def test_stops_a_pending_task_for_good(self, rooms: Rooms) -> None:
        task = await rooms.register()
        assert (await rooms.registry.cancel(LAN, task.task_id, "no longer needed")).status is TaskStatus.CANCELLED
        entries = await rooms.entries(task.task_id)
        assert entries[-1].event == TaskCancelled(reason="no longer needed")
        assert await rooms.registry.claim_task(LAN, task.task_id, "late") is None

    async def test_takes_a_running_task_from_its_holder(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        step = step_of(run.task)
        await rooms.registry.steps.register(run, [step])
        say(run, "before")
        await rooms.registry.cancel(LAN, step.task_id)
        say(run, "after")
        with pytest.raises(StaleAttempt):
            await rooms.complete(run)
        entries = await rooms.entries(run.task.task_id)
        assert [entry.event.type for entry in entries] == ["task_available", "task_cancelled"]
        assert (await rooms.registry.get_task(LAN, step.task_id)).status is TaskStatus.CANCELLED

    async def test_leaves_a_finished_task_as_it_is(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        await rooms.complete(run)
        for _ in range(2):
            assert (await rooms.registry.cancel(LAN, run.task.task_id)).status is TaskStatus.COMPLETED
        assert len(await rooms.entries(run.task.task_id)) == 2

    async def test_and_finish_at_once_leave_exactly_one_terminal_event(self, rooms: Rooms) -> None:
        for _ in range(15):
            run = await rooms.begin()
            say(run, "x")
            ended, cancelled = await asyncio.gather(
                rooms.complete(run), rooms.registry.cancel(LAN, run.task.task_id), return_exceptions=True
            )
            assert ended is None or isinstance(ended, StaleAttempt)
            assert not isinstance(cancelled, BaseException)
            entries = await rooms.entries(run.task.task_id)
            assert sum(entry.is_terminal for entry in entries) == 1
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))

    @pytest.mark.parametrize("who", [MINH, JANE, BOSS], ids=lambda who: who.name)
    async def test_is_not_found_for_everybody_else(self, rooms: Rooms, who: Principal) -> None:
        run = await rooms.begin()
        with pytest.raises(AppError) as refusal:
            await rooms.registry.cancel(who, run.task.task_id)
        assert refusal.value.status == 404
        await rooms.complete(run)


class TestLooking:
    async def test_shows_a_task_to_its_owner_and_to_administrators_only(self, rooms: Rooms) -> None:
        task = await rooms.register()
        assert (await rooms.registry.get_task(BOSS, task.task_id)).task_id == task.task_id
        for stranger in (MINH, JANE, principal("globex", "boss", roles=("admin",))):
            for task_id in (task.task_id, uuid4()):
                with pytest.raises(AppError) as refusal:
                    await rooms.registry.get_task(stranger, task_id)
                assert (refusal.value.status, refusal.value.detail) == (404, "There is no such task.")
            assert await rooms.registry.children(stranger, task.task_id) == []
