"""The documents of a tenant as the command line handles them: in this process, or through a server."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from rich.console import Console

from app.cli.documents.operator import operator_of
from app.cli.documents.server import ServerLibrary
from app.client.connection import Connection
from app.domain.documents import DocumentStatus, DocumentView, Upload
from app.domain.health import HealthReport
from app.domain.principal import tenant_id_of
from app.errors import AppError, ErrorCode
from app.ingestion.stages import Published, Tell
from app.settings import Settings


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
            # Only here: with it comes the whole house, which takes seconds to import.
            from app.cli.documents.library_here import open_local  # noqa: PLC0415

            yield await stack.enter_async_context(open_local(target.tenant, settings, console))
            return
        remote = await stack.enter_async_context(Connection(target.server, target.token))
        if not target.token:
            await remote.sign_in(f"{target.tenant}/admin")
        if remote.tenant_id not in (None, tenant_id_of(target.tenant)):
            detail = f"The token is of another tenant than {target.tenant[:100]!r}."
            raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
        yield ServerLibrary(remote, operator_of(target.tenant))
