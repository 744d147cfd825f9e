"""The documents of a tenant as the command line handles them: in this process, or through a server."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from rich.console import Console

from app.cli.documents.operator import id_of, operator_in, operator_of
from app.cli.documents.server import ServerLibrary
from app.cli.output import opened
from app.client.connection import Connection
from app.domain.documents import DocumentStatus, DocumentView, Upload
from app.domain.health import HealthReport
from app.domain.principal import Principal, tenant_id_of
from app.embedding import EmbeddingUnavailable
from app.errors import AppError, ErrorCode
from app.ingestion.catalogue import Catalogue
from app.ingestion.health import Health
from app.ingestion.pipeline import Ingestion
from app.ingestion.stages import Published, Tell
from app.settings import Settings
from app.storage import documents
from app.storage.database import Database

_PAGE = 100
_AT_ONCE = 3


class Library(Protocol):
    """What the commands ask for. Everything raises `AppError`."""

    max_upload_bytes: int | None
    """None = the server says so when it refuses."""
    at_once: int

    async def departments(self) -> frozenset[str]:
        """Those that exist."""

    async def known(self, prefix: str) -> dict[str, UUID]:
        """Documents whose external id begins with `prefix`."""

    async def bring_in(self, upload: Upload, tell: Tell) -> Published:
        """Take a document in and through all its stages; how that ended."""

    def listing(self, department: str | None, status: DocumentStatus | None) -> AsyncIterator[DocumentView]:
        """All documents, last changed first."""

    async def find(self, name: str) -> DocumentView:
        """The document with this id or external id."""

    async def delete(self, document_id: UUID) -> None:
        """Remove a document with everything made from it."""

    async def health(self, limit: int, cursor: str | None) -> HealthReport:
        """What is wrong with the documents, gravest first, a page at a time."""


@dataclass(frozen=True)
class Target:
    """Whose documents, and where: a server when one is named, else this process."""

    tenant: str
    server: str = ""
    token: str = ""


@asynccontextmanager
async def open_library(target: Target, settings: Settings, console: Console) -> AsyncIterator[Library]:
    """The target's documents. A server without a token is asked for the demo administrator's.

    Raises `AppError` for a tenant that is not there, or is not the token's.
    """
    async with AsyncExitStack() as stack:
        if not target.server:
            services = await stack.enter_async_context(opened(settings, console))
            operator = await operator_in(services, target.tenant)
            yield LocalLibrary(
                services.database,
                services.ingestion,
                services.catalogue,
                services.health,
                operator,
                settings.max_upload_bytes,
            )
            return
        remote = await stack.enter_async_context(Connection(target.server, target.token))
        if not target.token:
            await remote.sign_in(f"{target.tenant}/admin")
        if remote.tenant_id not in (None, tenant_id_of(target.tenant)):
            detail = f"The token is of another tenant than {target.tenant[:100]!r}."
            raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
        yield ServerLibrary(remote, operator_of(target.tenant))


class LocalLibrary:
    """Documents through the rooms of this process."""

    at_once = _AT_ONCE

    def __init__(
        self,
        database: Database,
        ingestion: Ingestion,
        catalogue: Catalogue,
        health: Health,
        operator: Principal,
        max_upload_bytes: int | None,
    ):
        """`operator` administers the tenant and belongs to every department."""
        self._database, self._ingestion, self._catalogue = database, ingestion, catalogue
        self._health, self._operator = health, operator
        self.max_upload_bytes = max_upload_bytes

    async def departments(self) -> frozenset[str]:
        """See `Library`."""
        return self._operator.departments

    async def known(self, prefix: str) -> dict[str, UUID]:
        """See `Library`."""
        async with self._database.principal_scope(self._operator, durable=False) as tx:
            return await documents.external_ids(tx, prefix)

    async def bring_in(self, upload: Upload, tell: Tell) -> Published:
        """See `Library`."""
        try:
            return await self._ingestion.bring_in(self._operator, upload, tell)
        except EmbeddingUnavailable as error:
            detail = "The embedding model cannot be reached. Run the command again when it can."
            raise AppError(ErrorCode.LLM_UNAVAILABLE, detail, status=503) from error

    async def listing(self, department: str | None, status: DocumentStatus | None) -> AsyncIterator[DocumentView]:
        """See `Library`."""
        cursor, stage = None, status.value if status else None
        while True:
            found, cursor = await self._catalogue.page(
                self._operator, department=department, status=stage, cursor=cursor, limit=_PAGE
            )
            for view in found:
                yield view
            if cursor is None:
                return

    async def find(self, name: str) -> DocumentView:
        """See `Library`."""
        return await self._catalogue.find(self._operator, id_of(self._operator, name))

    async def delete(self, document_id: UUID) -> None:
        """See `Library`."""
        await self._catalogue.delete(self._operator, document_id)

    async def health(self, limit: int, cursor: str | None) -> HealthReport:
        """See `Library`; what nobody has compared yet is compared first."""
        if cursor is None:
            await self._health.catch_up(self._operator)
        return await self._health.report(self._operator, limit=limit, cursor=cursor)
