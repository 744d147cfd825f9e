"""Attached files in the database: a person's own, gone with the person, seen by nobody who keeps house."""

from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest

from app.domain.attachments import AttachedFile, Attachment, FileContent
from app.domain.principal import Principal
from app.storage import attachments, tenants
from app.storage.database import Database
from tests.factories import NOW, principal

LAN, MINH = principal("acme", "lan"), principal("acme", "minh")


async def attach(database: Database, who: Principal, *, days: int = 36_500) -> Attachment:
    made = Attachment(
        file_id=uuid4(), name="a.csv", kind="csv", byte_count=5, pages=None, tables=0, created_at=NOW,
        expires_at=NOW + timedelta(days=days),
    )  # fmt: skip
    async with database.principal_scope(who) as tx:
        await attachments.add(tx, AttachedFile(attachment=made, content=FileContent(title="x")), "hash")
    return made


class TestAttachments:
    async def test_are_read_as_they_were_written(self, database: Database) -> None:
        made = await attach(database, LAN)
        async with database.principal_scope(LAN) as tx:
            found = await attachments.read(tx, made.file_id)
        assert found is not None
        assert (found[0], FileContent.model_validate_json(found[1])) == (made, FileContent(title="x"))

    @pytest.mark.parametrize(
        "stranger",
        [MINH, principal("globex", "lan"), principal("acme", "admin", roles=("admin",))],
        ids=lambda p: p.name,
    )
    async def test_are_nobody_elses(self, database: Database, stranger: Principal) -> None:
        made = await attach(database, LAN)
        async with database.principal_scope(stranger) as tx:
            assert await attachments.read(tx, made.file_id) is None
            assert made not in await attachments.listing(tx)
            assert not await attachments.delete(tx, made.file_id)
            assert await tx.driver.fetchval("select count(*) from attachments where user_id = $1", LAN.user_id) == 0

    async def test_go_with_their_person(self, database: Database, maintenance_url: str) -> None:
        kept = await attach(database, MINH)
        operator = await Database.connect(maintenance_url, pool_size=1)
        try:
            async with operator.operator_scope() as tx:
                tenant = await tenants.add_tenant(tx, "acme", display_name="Acme")
                await tenants.add_user(tx, tenant.tenant_id, "lan", department="hr", scopes={"public"})
            await attach(database, LAN)
            async with operator.operator_scope() as tx:
                await tx.driver.execute("delete from users where user_id = $1", LAN.user_id)
        finally:
            await operator.dispose()
        async with database.principal_scope(LAN) as tx:
            assert await attachments.listing(tx) == []
        async with database.principal_scope(MINH) as tx:
            assert kept in await attachments.listing(tx)

    async def test_are_swept_unread(self, database: Database, maintenance_url: str) -> None:
        await attach(database, LAN, days=-36_500)
        operator = await Database.connect(maintenance_url, pool_size=1)
        try:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with operator.operator_scope() as tx:
                    await tx.driver.fetch("select content from attachments")
            async with operator.operator_scope() as tx:
                assert await tx.driver.fetchval("select sweep_attachments()") == 1
        finally:
            await operator.dispose()
