"""A tenant with a connector, for tests: what administrators ask for, what a worker does, what readers find."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from app.connectors.definition import Definition
from app.connectors.runner import LEASE_SECONDS, Rooms
from app.connectors.service import Connectors
from app.domain.principal import Principal
from app.storage import connectors
from app.storage.connectors import StoredConnector, Turn
from tests.postgres.arriving import Desk
from tests.postgres.places import Place
from tests.postgres.running import rooms_on

MOST_BYTES = 200_000
EVERYBODY = [{"scope": "public"}]


@dataclass
class Ground:
    desk: Desk
    superuser: "asyncpg.Connection[asyncpg.Record]"
    service: Connectors
    place: Place
    grants: Path

    @classmethod
    def of(cls, desk: Desk, superuser: "asyncpg.Connection[asyncpg.Record]", place: Place, folder: Path) -> "Ground":
        registry = rooms_on(desk.database).registry
        rooms = Rooms(desk.database, registry, desk.ingestion.intake, desk.catalogue, MOST_BYTES)
        grants = folder / "connectors.yaml"
        grants.write_text(json.dumps({str(desk.owner.tenant_id): place.grant.model_dump(mode="json")}))
        return cls(desk, superuser, Connectors(rooms, grants, folder), place, grants)

    def definition(self, access: Any = EVERYBODY, **changes: Any) -> Definition:
        own = {"name": "handbook", "kind": self.place.kind, "source": self.place.source, "secret": self.place.secret}
        return Definition.model_validate({**own, "access": access, **changes})

    async def add(self, access: Any = EVERYBODY, **changes: Any) -> StoredConnector:
        return await self.service.add(self.desk.owner, self.definition(access, **changes))

    async def take(self, connector_id: UUID) -> Turn:
        """The turn of this connector, whatever others are due."""
        while True:
            turn = await connectors.take(self.desk.database, LEASE_SECONDS)
            assert turn is not None
            if turn.connector_id == connector_id:
                return turn

    async def sync(self, row: StoredConnector, *, withdraw_all: bool = False, work: bool = True) -> StoredConnector:
        """Synchronise now, and have the documents read that came."""
        await self.service.ask(self.desk.owner, row.connector_id, withdraw_all=withdraw_all)
        await self.service.synchronise(await self.take(row.connector_id))
        if work:
            await self.work(row.connector_id)
        return await self.service.find(self.desk.owner, row.connector_id)

    async def work(self, connector_id: UUID) -> int:
        """What a worker does with the tasks that were registered; how many there were."""
        tenant_id = self.desk.owner.tenant_id
        rows = await self.superuser.fetch(
            "update tasks set status = 'in_progress' where tenant_id = $1 and user_id = $2 and kind = 'ingest'"
            " and status = 'pending' returning task_id, request ->> 'document_id' as document_id, principal::text",
            tenant_id, connector_id,
        )  # fmt: skip
        for row in rows:
            who = Principal.model_validate_json(row["principal"])
            await self.desk.work(UUID(row["document_id"]), row["task_id"], who)
        return len(rows)

    async def stored(self) -> dict[str, tuple[str, str, int]]:
        """(department, scope, version) of every document, by the name the source gives it."""
        rows = await self.superuser.fetch(
            "select external_id, department, scope, latest_version from documents where tenant_id = $1",
            self.desk.owner.tenant_id,
        )
        return {row[0].removeprefix("connector:handbook/"): tuple(row[1:]) for row in rows}

    async def reads(self, department: str, *scopes: Any, query: str) -> set[str]:
        """What somebody finds, by the name the source gives it."""
        asker = self.desk.reader(*scopes, department=department)
        found = await self.desk.retriever.search(asker, query, departments=None, limit=50)
        return {one.external_id.removeprefix("connector:handbook/") for one in found.passages}
