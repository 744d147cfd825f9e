"""Connectors of a tenant: adding, looking, asking for a synchronisation, removing; and the loop that synchronises."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid4

import structlog

from app.connectors.definition import Definition, grant_of, reach_of
from app.connectors.runner import LEASE_SECONDS, Rooms, Run, acting
from app.connectors.source import Source, SourceLost
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.ingestion.intake import demand_admin
from app.storage import connectors, documents
from app.storage.connectors import LeaseLost, StoredConnector, Turn

_LOOK_SECONDS = 4.0
"""Between two looks for a connector that is due; shorter than what the watchdog takes for silence."""
_RENEW_AFTER_LOOKS = 5
_MOST_SECONDS = 3_600.0
"""For one synchronisation: a source that dribbles must not keep others waiting for ever."""
_ACT = "changes connectors"
_log = structlog.get_logger(__name__)


class Connectors:
    """The connectors of all tenants, each reached by its own administrators."""

    def __init__(self, rooms: Rooms, grants: Path | None, data_dir: Path):
        """`grants`: the operator's file of what each tenant may use; copies of sources lie in `data_dir`."""
        self._rooms, self._grants, self._copies = rooms, grants, data_dir / "connectors"
        self._database = rooms.database

    async def listing(self, principal: Principal) -> list[StoredConnector]:
        """The tenant's connectors by name. Raises `AppError` (403)."""
        demand_admin(principal, "sees connectors")
        async with self._database.principal_scope(principal, durable=False) as tx:
            return await connectors.listing(tx)

    async def find(self, principal: Principal, connector_id: UUID) -> StoredConnector:
        """A connector. Raises `AppError` (403, 404)."""
        demand_admin(principal, "sees connectors")
        async with self._database.principal_scope(principal, durable=False) as tx:
            return _there(await connectors.find(tx, connector_id))

    async def add(self, principal: Principal, definition: Definition) -> StoredConnector:
        """Make a connector, to be synchronised at once. Raises `AppError`: 403, 409 for a name that is taken, 422 for
        what the adapter or the operator's file does not allow. Speaks to no host."""
        demand_admin(principal, _ACT)
        connector_id = uuid4()
        await asyncio.to_thread(self._opened, principal.tenant_id, connector_id, definition)
        async with self._database.principal_scope(principal) as tx:
            if not await connectors.add(tx, connector_id, definition.model_dump(mode="json", exclude_unset=False)):
                detail = f"There is a connector {definition.name!r} already; remove it first, or take another name."
                raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)
            await documents.note(tx, "connector_added", str(connector_id), {"kind": definition.kind})
            return _there(await connectors.find(tx, connector_id))

    async def ask(self, principal: Principal, connector_id: UUID, *, withdraw_all: bool = False) -> StoredConnector:
        """Have it synchronised as soon as a worker is free; with `withdraw_all` also where most of it is gone.
        Raises `AppError` (403, 404)."""
        demand_admin(principal, _ACT)
        async with self._database.principal_scope(principal) as tx:
            if await connectors.ask(tx, connector_id, may_withdraw_all=withdraw_all):
                await documents.note(tx, "connector_asked", str(connector_id), {"withdraw_all": withdraw_all})
            return _there(await connectors.find(tx, connector_id))

    async def remove(self, principal: Principal, connector_id: UUID, its_documents: Literal["keep", "delete"]) -> None:
        """Forget a connector; its documents stay as they are, with rights nobody follows any more, or are deleted
        first. Raises `AppError` (403, 404)."""
        demand_admin(principal, _ACT)
        found = await self.find(principal, connector_id)
        if its_documents == "delete":
            async with self._database.principal_scope(principal, durable=False) as tx:
                known = await connectors.known(tx, connector_id)
            for one in known:
                if one.document_id is not None:
                    await self._rooms.catalogue.delete(principal, one.document_id)
        async with self._database.principal_scope(principal) as tx:
            await connectors.remove(tx, found.connector_id)
            await documents.note(tx, "connector_removed", str(connector_id), {"documents": its_documents})
        await asyncio.to_thread(shutil.rmtree, self._copies / str(connector_id), ignore_errors=True)

    async def synchronise(self, turn: Turn) -> None:
        """Synchronise a connector that was taken, and give it back with how it went. Raises `AppError` (503) when the
        database is away; then whoever takes it next goes on."""
        async with self._database.principal_scope(acting(turn), durable=False) as tx:
            row = await connectors.find(tx, turn.connector_id)
        if row is None:
            return
        error, cursor, report = "", "", dict[str, object]()
        try:
            definition = Definition.model_validate(row.definition)
            source = await asyncio.to_thread(self._opened, turn.tenant_id, turn.connector_id, definition)
            run = Run(self._rooms, turn, row, definition, source)
            try:
                async with asyncio.timeout(_MOST_SECONDS):
                    cursor = await run.carry_out()
                error = run.problem
            finally:
                report = {**run.tally.counts, "notes": run.tally.notes}
                await source.aclose()
        except LeaseLost:
            return
        except TimeoutError:
            error = f"It took longer than {_MOST_SECONDS / 60:.0f} minutes; the next one goes on from what is here."
        except SourceLost as lost:
            error = f"The source was lost, and nothing of it withdrawn: {lost}"
        except AppError as refused:
            if refused.code is ErrorCode.DATABASE_UNAVAILABLE:
                raise
            error = refused.detail
        except Exception as failed:
            _log.error("connector_failed", exc_info=failed)
            error = f"It failed unexpectedly ({type(failed).__name__}); the log says more."
        async with self._database.principal_scope(acting(turn)) as tx:
            await connectors.finish(tx, turn, error[:1_000], report, cursor)

    async def keep_synchronising(self, beat: Callable[[], None]) -> None:
        """Take what is due and synchronise it, one at a time, until cancelled; `beat` is a sign of life."""
        while True:
            try:
                if (turn := await connectors.take(self._database, LEASE_SECONDS)) is not None:
                    await self._watched(turn, beat)
            except LeaseLost:
                pass
            except AppError as error:  # the database is away: the next look tries again
                _log.warning("connectors_wait", error_class=type(error).__name__)
                turn = None
            beat()
            if turn is None:
                await asyncio.sleep(_LOOK_SECONDS)

    async def _watched(self, turn: Turn, beat: Callable[[], None]) -> None:
        """Synchronise, giving signs of life and holding the lease meanwhile. Raises `LeaseLost` and `AppError`."""
        work, looks = asyncio.create_task(self.synchronise(turn)), 0
        try:
            while not work.done():
                beat()
                await asyncio.wait({work}, timeout=_LOOK_SECONDS)
                looks += 1
                if looks % _RENEW_AFTER_LOOKS == 0 and not work.done():
                    async with self._database.principal_scope(acting(turn), durable=False) as tx:
                        await connectors.renew(tx, turn, LEASE_SECONDS)
            work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    def _opened(self, tenant_id: UUID, connector_id: UUID, definition: Definition) -> Source:
        """The source of a definition within what the operator allows. Reads files. Raises `AppError`."""
        kind, options = definition.opened_kind()
        grant = grant_of(self._grants, tenant_id)
        return kind.open(options, reach_of(grant, definition, self._copies / str(connector_id)))


def _there(found: StoredConnector | None) -> StoredConnector:
    if found is None:
        raise AppError(ErrorCode.NOT_FOUND, "There is no such connector.", status=404)
    return found
