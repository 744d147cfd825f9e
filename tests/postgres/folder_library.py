"""The documents of a tenant as `conclave ingest` handles them, over a database and without a server."""

from collections.abc import AsyncIterator
from uuid import UUID

from app.cli.library import Library, id_of
from app.client.records import Ingested
from app.domain.documents import DocumentStatus, DocumentView, Progress, Upload
from app.domain.principal import Principal
from app.embedding import EmbeddingUnavailable
from app.errors import AppError, ErrorCode
from app.ingestion.catalogue import Catalogue
from app.ingestion.pipeline import Ingestion
from app.storage import documents
from app.storage.database import Database


async def silent(_progress: Progress) -> None:
    """Tell nobody of a stage."""


class FolderLibrary(Library):
    """A tenant's documents, without a server between."""

    def __init__(
        self,
        database: Database,
        ingestion: Ingestion,
        catalogue: Catalogue,
        operator: Principal,
    ):
        """`operator` administers the tenant and belongs to every department."""
        self._database, self._ingestion, self._catalogue = database, ingestion, catalogue
        self._operator = operator

    async def departments(self) -> frozenset[str]:
        return self._operator.departments

    async def known(self, prefix: str) -> dict[str, UUID]:
        async with self._database.principal_scope(self._operator, durable=False) as tx:
            found = await documents.page(tx, department=None, status=None, behind=None, limit=1_000)
        return {view.external_id: view.document_id for view in found if view.external_id.startswith(prefix)}

    async def bring_in(self, upload: Upload) -> Ingested:
        if len(upload.content or b"") > 1_000_000:
            raise AppError(ErrorCode.PAYLOAD_TOO_LARGE, "Too large.", status=413)
        try:
            ended = await self._ingestion.bring_in(self._operator, upload, silent)
        except EmbeddingUnavailable as error:
            raise AppError(ErrorCode.LLM_UNAVAILABLE, "The embedding model cannot be reached.", status=503) from error
        return Ingested.model_validate(ended.model_dump())

    async def listing(
        self, department: str | None, status: DocumentStatus | None, limit: int | None = None
    ) -> AsyncIterator[DocumentView]:
        cursor, stage = None, status.value if status else None
        while True:
            found, cursor = await self._catalogue.page(
                self._operator, department=department, status=stage, cursor=cursor, limit=100
            )
            for view in found:
                yield view
            if cursor is None:
                return

    async def find(self, name: str) -> DocumentView:
        return await self._catalogue.find(self._operator, id_of(self._operator.tenant_id, name))

    async def delete(self, document_id: UUID) -> None:
        await self._catalogue.delete(self._operator, document_id)
