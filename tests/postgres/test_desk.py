"""What the database itself keeps off the desk: words of answers nobody may read, and conflicts nobody was shown."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.principal import Principal, Scope
from app.storage.database import Database
from tests.factories import principal

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Write = Callable[..., Awaitable[UUID]]
TENANT = "desk-house"
OWNER = principal(TENANT, "olga", "hr", ("public", "internal"), ("owner",))
ASKER = principal(TENANT, "ann", "general", ("public", "internal"))


@pytest.fixture
async def write(superuser: Superuser) -> Write:
    """Writes a document of hr, or a judged run of `ASKER` that cites documents."""
    await superuser.execute(
        "insert into tenants (tenant_id, name) values ($1, $2) on conflict do nothing", OWNER.tenant_id, TENANT
    )

    async def document(scope: Scope) -> UUID:
        made = uuid4()
        await superuser.execute(
            "insert into documents (tenant_id, document_id, external_id, title, url, department, scope, created_at,"
            " current_version) values ($1, $2, $3, $3, $3, 'hr', $4, now(), 1)",
            OWNER.tenant_id, made, str(made), scope,
        )  # fmt: skip
        return made

    return document


async def run(superuser: Superuser, *cited: UUID) -> UUID:
    task_id = uuid4()
    rights = json.dumps({"scopes": sorted(ASKER.scopes), "departments": sorted(ASKER.departments)})
    await superuser.execute(
        "insert into sessions (tenant_id, user_id, session_id, user_input) values ($1, $2, $3, '')",
        ASKER.tenant_id, ASKER.user_id, task_id,
    )  # fmt: skip
    await superuser.execute(
        "insert into tasks (tenant_id, user_id, task_id, root_task_id, session_id, kind, title, request,"
        " result, principal) values ($1, $2, $3, $3, $3, 'chat', '', $4, $5, $6)",
        ASKER.tenant_id, ASKER.user_id, task_id, json.dumps({"query": "How many?"}),
        json.dumps({"evidence": [{"url": str(one)} for one in cited]}), rights,
    )  # fmt: skip
    await superuser.execute(
        "insert into feedback (tenant_id, user_id, task_id, rating, correction) values ($1, $2, $3, -1, 'Four.')",
        ASKER.tenant_id, ASKER.user_id, task_id,
    )  # fmt: skip
    return task_id


async def corrected(database: Database, who: Principal) -> set[UUID]:
    async with database.principal_scope(who) as tx:
        return {row[0] for row in await tx.driver.fetch("select task_id from desk_corrections()")}


class TestCorrections:
    async def test_of_an_answer_that_cites_what_may_not_be_read_are_not_shown(
        self, database: Database, superuser: Superuser, write: Write
    ) -> None:
        public, private = await write("public"), await write("private")
        shown, hidden, gone = [await run(superuser, *one) for one in ((public,), (public, private), (public, uuid4()))]
        found = await corrected(database, OWNER)
        assert shown in found and not {hidden, gone} & found
        assert await corrected(database, OWNER.model_copy(update={"roles": frozenset()})) == set()
        assert await corrected(database, OWNER.model_copy(update={"departments": frozenset({"it"})})) == set()

    async def test_from_before_the_desk_stay_with_their_writers(
        self, database: Database, superuser: Superuser, write: Write
    ) -> None:
        before = await run(superuser, await write("public"))
        await superuser.execute("update feedback set for_owners = false where task_id = $1", before)
        assert before not in await corrected(database, OWNER)


class TestTelling:
    async def test_of_what_was_not_shown_is_refused_by_the_database(
        self, database: Database, superuser: Superuser, write: Write
    ) -> None:
        pair, other = [await write("public"), await write("public")], await write("public")
        told = await run(superuser, *pair)
        sides: dict[str, Any] = {
            side: {"document_id": str(one)} for side, one in zip(("winner", "loser"), pair, strict=True)
        }
        await superuser.execute(
            "insert into conflicts (tenant_id, user_id, root_task_id, topic, details) values ($1, $2, $3, '', $4)",
            ASKER.tenant_id, ASKER.user_id, told, json.dumps(sides),
        )  # fmt: skip
        add = (
            "insert into document_findings (tenant_id, finding_id, kind, document_id, other_document_id, sentence,"
            " other_sentence, similarity, score, judge)"
            " values ($1, $2, 'contradiction', $3, $4, '', '', 1, 1, 'person')"
        )
        tell = "insert into desk_tellings (tenant_id, user_id, task_id, finding_id) values ($1, $2, $3, $4)"
        finding, elsewhere = uuid4(), await run(superuser, *pair)
        async with database.principal_scope(ASKER) as tx:
            await tx.driver.execute(add, ASKER.tenant_id, finding, *pair)
            await tx.driver.execute(tell, *tx.whose, told, finding)
        refused: list[tuple[str, tuple[object, ...]]] = [
            (add, (ASKER.tenant_id, uuid4(), pair[0], other)),
            (tell, (ASKER.tenant_id, ASKER.user_id, elsewhere, finding)),
            (add.replace("'person'", "'rule'"), (ASKER.tenant_id, uuid4(), *pair)),
        ]
        for statement, values in refused:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with database.principal_scope(ASKER) as tx:
                    await tx.driver.execute(statement, *values)
