"""The documents of a tenant in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from rich.console import Console

from app.cli.documents.operator import id_of, operator_in
from app.cli.output import opened
from app.domain.documents import DocumentStatus, DocumentView, Upload
from app.domain.health import HealthReport
from app.domain.principal import Principal
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
        """See `app.cli.documents.library.Library`."""
        return self._operator.departments

    async def known(self, prefix: str) -> dict[str, UUID]:
        """See `app.cli.documents.library.Library`."""
        async with self._database.principal_scope(self._operator, durable=False) as tx:
            return await documents.external_ids(tx, prefix)

    async def bring_in(self, upload: Upload, tell: Tell) -> Published:
        """See `app.cli.documents.library.Library`."""
        try:
            return await self._ingestion.bring_in(self._operator, upload, tell)
        except EmbeddingUnavailable as error:
            detail = "The embedding model cannot be reached. Run the command again when it can."
            raise AppError(ErrorCode.LLM_UNAVAILABLE, detail, status=503) from error

    async def listing(self, department: str | None, status: DocumentStatus | None) -> AsyncIterator[DocumentView]:
        """See `app.cli.documents.library.Library`."""
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
        """See `app.cli.documents.library.Library`."""
        return await self._catalogue.find(self._operator, id_of(self._operator, name))

    async def delete(self, document_id: UUID) -> None:
        """See `app.cli.documents.library.Library`."""
        await self._catalogue.delete(self._operator, document_id)

    async def health(self, limit: int, cursor: str | None) -> HealthReport:
        """See `app.cli.documents.library.Library`; what nobody has compared yet is compared first."""
        if cursor is None:
            await self._health.catch_up(self._operator)
        return await self._health.report(self._operator, limit=limit, cursor=cursor)


@asynccontextmanager
async def open_local(tenant: str, settings: Settings, console: Console) -> AsyncIterator[LocalLibrary]:
    """The documents of `tenant`, as whoever sits at the machine. Raises `AppError` for a tenant that is not there."""
    async with opened(settings, console) as services:
        operator = await operator_in(services, tenant)
        yield LocalLibrary(
            services.database,
            services.ingestion,
            services.catalogue,
            services.health,
            operator,
            settings.max_upload_bytes,
        )
