"""The documents of a tenant through a server's API, as its administrator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from rich.console import Console

from app.cli.connecting import Target, connected
from app.client.connection import Connection
from app.client.records import Ingested
from app.domain.documents import DocumentStatus, DocumentView, Upload
from app.domain.principal import tenant_id_of
from app.errors import AppError, ErrorCode
from app.ingestion.intake import document_id_of
from app.main.storage import operator_claims

_PAGE = 100


@asynccontextmanager
async def open_library(
    target: Target, console: Console, *, as_json: bool = False, work: bool = False
) -> AsyncIterator["Library"]:
    """The target's documents; to `work` = documents will come in. Raises `AppError` for a tenant that is not there, or
    is not the token's."""
    tenant = target.acting.rstrip("/")
    async with connected(target, console, as_json=as_json, work=work) as connection:
        known = connection.tenant_id
        if known is not None and tenant and known != tenant_id_of(tenant):
            detail = f"The token is of another tenant than {tenant[:100]!r}."
            raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
        if known is None and not tenant:
            tenant, _ = await connection.who()
        yield Library(connection, known or tenant_id_of(tenant))


def id_of(tenant_id: UUID, name: str) -> UUID:
    """The id meant by `name`: itself when it is one, else that of the document with this external id."""
    try:
        return UUID(name)
    except ValueError:
        return document_id_of(operator_claims(str(tenant_id)).principal(), name)


def state_of(view: DocumentView) -> str:
    """Name the state of a document's newest version, with its code."""
    return f"{view.status.value} {view.status_code}".strip()


class Library:
    """Documents behind a connection. Every method raises `AppError`."""

    def __init__(self, connection: Connection, tenant_id: UUID):
        """`tenant_id` only tells ids by names; what the connection may do counts."""
        self._connection, self._tenant_id = connection, tenant_id

    async def departments(self) -> frozenset[str]:
        """Those that exist."""
        return frozenset((await self._connection.send("GET", "/agents"))["departments"])

    async def known(self, prefix: str) -> dict[str, UUID]:
        """Documents whose external id begins with `prefix`."""
        found = [view async for view in self.listing(None, None)]
        return {view.external_id: view.document_id for view in found if view.external_id.startswith(prefix)}

    async def bring_in(self, upload: Upload) -> Ingested:
        """Take a document in and through all its stages; how that ended. A lost connection is taken up again."""
        fields = upload.fields.model_dump(mode="json", exclude_none=True)
        content = upload.text if upload.content is None else upload.content
        return await self._connection.bring_in(fields, content, upload.file_name)

    async def listing(
        self, department: str | None, status: DocumentStatus | None, limit: int | None = None
    ) -> AsyncIterator[DocumentView]:
        """Documents, last changed first; all of them, or not many more than `limit`."""
        params, given = {"limit": str(_PAGE)}, 0
        if department:
            params["department"] = department
        if status:
            params["status"] = status.value
        while True:
            page = await self._connection.send("GET", "/documents", params=params)
            for view in page["documents"]:
                yield DocumentView.model_validate(view)
            given += len(page["documents"])
            if page["next_cursor"] is None or (limit is not None and given >= limit):
                return
            params["cursor"] = page["next_cursor"]

    async def find(self, name: str) -> DocumentView:
        """The document with this id or external id."""
        path = f"/documents/{id_of(self._tenant_id, name)}"
        return DocumentView.model_validate(await self._connection.send("GET", path))

    async def delete(self, document_id: UUID) -> None:
        """Remove a document with everything made from it."""
        await self._connection.send("DELETE", f"/documents/{document_id}")
