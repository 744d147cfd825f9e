"""Connectors: where documents come from by themselves. For administrators."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends
from starlette.responses import Response

from app.api.deps import Caller, Services
from app.api.schemas import Body, Problem, View
from app.connectors.definition import Definition
from app.connectors.runner import Rooms
from app.connectors.service import Connectors
from app.storage.connectors import StoredConnector

_REFUSED: dict[int | str, dict[str, Any]] = {status: {"model": Problem} for status in (403, 409)}
_UNKNOWN: dict[int | str, dict[str, Any]] = {status: {"model": Problem} for status in (403, 404)}
router = APIRouter(prefix="/connectors", tags=["connectors"])


def connectors_of(services: Services) -> Connectors:
    """The connectors of all tenants, on the services documents go through."""
    limits = services.limits
    rooms = Rooms(
        services.database, services.registry, services.ingestion.intake, services.catalogue, limits.max_upload_bytes
    )
    return Connectors(rooms, limits.connectors_file, limits.data_dir)


Service = Annotated[Connectors, Depends(connectors_of)]


class SyncBody(Body):
    """How to synchronise."""

    withdraw_all: bool = False
    """Withdraw also when nothing, or less than half, of what was brought in is left at the source."""


class ConnectorView(View):
    """A connector and how its last synchronisation went. A secret is named, never shown."""

    connector_id: UUID
    definition: Definition
    is_running: bool
    due_at: datetime
    """When it is synchronised next."""
    started_at: datetime | None
    finished_at: datetime | None
    succeeded_at: datetime | None
    """The end of the last synchronisation without an error."""
    last_error: str
    """Of the last synchronisation; empty = it did everything."""
    report: dict[str, Any]
    """What it did, by kind, with up to fifty ``notes``."""
    documents: int
    waiting: int
    """Documents that are being read."""
    failed: int
    """Documents whose newest version could not be read: see ``GET /documents?status=failed``."""


class ConnectorList(View):
    """Connectors by name."""

    connectors: tuple[ConnectorView, ...]


@router.get("", summary="Connectors of the company", responses={403: {"model": Problem}})
async def listing(caller: Caller, connectors: Service) -> ConnectorList:
    """Each with the time, the error and the counts of its last synchronisation."""
    return ConnectorList(connectors=tuple(map(_view, await connectors.listing(caller))))


@router.post("", summary="Add a connector", status_code=201, responses=_REFUSED)
async def add(body: Definition, caller: Caller, connectors: Service) -> ConnectorView:
    """It is synchronised at once, then every so many minutes. Hosts, folders and secrets are those the operator's file
    gives the company."""
    return _view(await connectors.add(caller, body))


@router.get("/{connector_id}", summary="A connector", responses=_UNKNOWN)
async def connector(connector_id: UUID, caller: Caller, connectors: Service) -> ConnectorView:
    """As in the list."""
    return _view(await connectors.find(caller, connector_id))


@router.post("/{connector_id}/sync", summary="Synchronise now", status_code=202, responses=_UNKNOWN)
async def sync(
    connector_id: UUID, caller: Caller, connectors: Service, body: SyncBody | None = None
) -> ConnectorView:  # fmt: skip
    """A worker begins within seconds; `finished_at` says when it has ended."""
    return _view(await connectors.ask(caller, connector_id, withdraw_all=body is not None and body.withdraw_all))


@router.delete(
    "/{connector_id}", summary="Remove a connector", status_code=204, response_class=Response, responses=_UNKNOWN
)
async def remove(
    connector_id: UUID, caller: Caller, connectors: Service, documents: Literal["keep", "delete"]
) -> None:  # fmt: skip
    """``keep``: its documents stay as they are, and nobody follows their rights any more. ``delete``: they go first."""
    await connectors.remove(caller, connector_id, documents)


def _view(found: StoredConnector) -> ConnectorView:
    return ConnectorView.model_validate(found.model_dump(include=set(ConnectorView.model_fields)))
