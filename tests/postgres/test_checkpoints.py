"""How far a deep run has come is kept outside of it: another attempt goes on from there, and nobody else reads it."""

from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.principal import Principal
from app.errors import StaleAttempt
from app.storage.database import Database
from app.tasks.approvals import DeepStates
from tests.factories import principal
from tests.postgres.running import JANE, LAN, Rooms, rooms_on, say, texts_of
from tests.postgres.world import NOW

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
def rooms(database: Database) -> Rooms:
    return rooms_on(database)


@pytest.fixture
def states(rooms: Rooms) -> DeepStates:
    return DeepStates(rooms.database, rooms.journal, lambda: datetime.now(UTC))


async def write_passage(
    superuser: Superuser, reader: Principal = LAN, scope: str = "internal", text: str = "x"
) -> dict[str, Any]:
    """A stored passage, as a state quotes it."""
    document_id, chunk_id = uuid4(), uuid4()
    await superuser.execute(
        "insert into tenants (tenant_id, name) values ($1::uuid, $1::uuid::text) on conflict do nothing",
        reader.tenant_id,
    )
    await superuser.execute(
        "insert into documents (tenant_id, document_id, external_id, title, url, department, scope, created_at,"
        " current_version) values ($1, $2::uuid, $2::uuid::text, '', '', 'hr', $3, $4, 1)",
        reader.tenant_id, document_id, scope, NOW,
    )  # fmt: skip
    await superuser.execute(
        "insert into document_versions (tenant_id, document_id, version, content_hash, text, department, scope,"
        " created_by, published_at) values ($1, $2, 1, '', '', 'hr', $3, $1, now())",
        reader.tenant_id, document_id, scope,
    )  # fmt: skip
    await superuser.execute(
        "insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded, department,"
        " scope, is_current) values ($1, $2, $3, 1, 0, $5, '', '', 'hr', $4, true)",
        reader.tenant_id, chunk_id, document_id, scope, text,
    )  # fmt: skip
    return {"chunk_id": str(chunk_id), "document_id": str(document_id), "authority": "policy", "text": text}


def _quoting(*passages: dict[str, Any]) -> dict[str, Any]:
    """A state that holds these passages as a flow's does, some way down."""
    return {"version": 1, "research": [{"findings": [{"quotes": [{"passage": one}]}]} for one in passages]}


class TestAState:
    async def test_is_kept_in_the_place_of_the_one_before_and_found_by_the_next_attempt(
        self, rooms: Rooms, states: DeepStates, superuser: Superuser
    ) -> None:
        run = await rooms.begin()
        assert await states.last(run) is None
        for step in range(3):
            await states.store(run, {"step": step})
        await rooms.expire(run)
        again = await rooms.resume(run.task.task_id)
        assert (again.attempt, await states.last(again)) == (2, {"step": 2})
        assert await superuser.fetchval("select count(*) from deep_states where task_id = $1", run.task.task_id) == 1

    async def test_comes_back_as_it_was_whatever_characters_are_in_it(self, rooms: Rooms, states: DeepStates) -> None:
        run = await rooms.begin()
        await states.store(run, {"talks": {"researcher:1": 1, "expert": 0.1 + 0.2}})
        assert str(await states.last(run)) == "{'talks': {'researcher:1': 1, 'expert': 0.30000000000000004}}"
        await states.store(run, {"said": "nghỉ phép 🏖 \x00 \ud800 \\u0000", "share": float("nan")})
        assert await states.last(run) == {"said": "nghỉ phép 🏖  ? \\u0000", "share": None}

    async def test_stands_behind_the_events_that_tell_how_it_was_reached(
        self, rooms: Rooms, states: DeepStates
    ) -> None:
        run = await rooms.begin()
        say(run, "step 1 is done")
        await states.store(run, {"step": 1})
        assert texts_of(await rooms.journal.read(LAN, run.task.task_id)) == ["step 1 is done"]

    @pytest.mark.parametrize("how", ["taken over", "cancelled", "completed"])
    async def test_is_not_kept_by_who_lost_the_run(self, rooms: Rooms, states: DeepStates, how: str) -> None:
        run = await rooms.begin()
        await states.store(run, {"by": 1})
        match how:
            case "taken over":
                await rooms.expire(run)
                other = await rooms.resume(run.task.task_id)
            case "cancelled":
                await rooms.registry.cancel(LAN, run.task.task_id)
            case _:
                await rooms.complete(run)
        with pytest.raises(StaleAttempt):
            await states.store(run, {"by": "late"})
        assert await states.last(run) == ({"by": 1} if how == "taken over" else None)
        if how == "taken over":
            await states.store(other, {"by": 2})
            assert await states.last(other) == {"by": 2}

    @pytest.mark.parametrize("how", ["completed", "cancelled", "erased"])
    async def test_goes_with_its_run(self, rooms: Rooms, states: DeepStates, superuser: Superuser, how: str) -> None:
        run = await rooms.begin()
        await states.store(run, {"text": "of a document"})
        match how:
            case "completed":
                await rooms.complete(run)
            case "cancelled":
                await rooms.registry.cancel(LAN, run.task.task_id)
            case _:
                await superuser.execute("delete from sessions where session_id = $1", run.task.session_id)
        assert await superuser.fetchval("select count(*) from deep_states where task_id = $1", run.task.task_id) == 0

    async def test_is_nobody_elses(self, rooms: Rooms, states: DeepStates) -> None:
        run = await rooms.begin()
        await states.store(run, {"by": "lan"})
        for other in (JANE, principal(user="minh"), principal(user="boss", roles=("admin",))):
            async with rooms.database.principal_scope(other) as tx:
                assert await tx.driver.fetch("select * from deep_states") == []


class TestRights:
    """They are looked at again when a state is taken up."""

    async def test_a_state_is_used_while_all_it_quotes_may_be_read(
        self, rooms: Rooms, states: DeepStates, superuser: Superuser
    ) -> None:
        run, passage = await rooms.begin(), await write_passage(superuser)
        line = {"chunk_id": str(uuid4()), "document_id": str(uuid4()), "authority": "log"}
        await states.store(run, _quoting(passage, passage, line))
        assert await states.last(run) == _quoting(passage, passage, line)

    @pytest.mark.parametrize(
        "change",
        [
            "delete from documents where document_id = $1",
            "update documents set scope = 'private', department = 'finance' where document_id = $1",
            "update documents set current_version = 2 where document_id = $1",
        ],
        ids=["deleted", "out of reach", "brought in anew"],
    )
    async def test_a_state_with_a_passage_that_is_gone_is_forgotten(
        self, rooms: Rooms, states: DeepStates, superuser: Superuser, change: str
    ) -> None:
        run, stays, goes = await rooms.begin(), await write_passage(superuser), await write_passage(superuser)
        await states.store(run, _quoting(stays, goes))
        async with superuser.transaction():
            await superuser.execute("select set_config('app.tenant_id', $1, true)", str(LAN.tenant_id))
            await superuser.execute(change, UUID(goes["document_id"]))
        assert await states.last(run) is None
        assert await superuser.fetchval("select count(*) from deep_states where task_id = $1", run.task.task_id) == 0

    async def test_a_state_with_a_file_that_is_gone_is_forgotten(
        self, rooms: Rooms, states: DeepStates, superuser: Superuser
    ) -> None:
        run, file_id = await rooms.begin(), uuid4()
        passage = {"chunk_id": str(uuid4()), "document_id": str(file_id), "authority": "attachment"}
        await superuser.execute(
            "insert into attachments (tenant_id, user_id, file_id, name, kind, byte_count, sha256, content, expires_at)"
            " values ($1, $2, $3, 'a.csv', 'csv', 1, '', '{}', now() + interval '1 day')",
            LAN.tenant_id, LAN.user_id, file_id,
        )  # fmt: skip
        await states.store(run, _quoting(passage))
        assert await states.last(run) == _quoting(passage)
        await superuser.execute("update attachments set expires_at = now() where file_id = $1", file_id)
        assert await states.last(run) is None
