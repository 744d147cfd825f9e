"""The house that is evaluated: the services of this process, asked as `conclave ask` asks them."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import date
from uuid import UUID

from pydantic import ValidationError

from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.cli.documents.operator import operator_in, operator_of
from app.domain.knowledge import DocumentDraft
from app.domain.principal import GENERAL, Principal, tenant_id_of
from app.embedding import EmbeddingUnavailable
from app.errors import AppError, ErrorCode
from app.evaluation.gaia.running import Mode
from app.evaluation.running import Progress, Shelved
from app.events import Event
from app.main import Services
from app.storage import feedback, tenants
from app.storage.database import Database
from app.storage.feedback import Correction

_PATIENCE_SECONDS = 15
"""Beyond the run's own deadline."""


class LocalHouse:
    """See `House` and `DeepHouse`; needs services whose worker runs."""

    def __init__(self, services: Services):
        self._services = services
        self._maintenance: Database | None = None

    async def rights_of(self, user: str) -> Principal:
        """See `House`."""
        return (await self._services.claims_of(user)).principal()

    async def shelf(self, tenant: str) -> list[Shelved]:
        """See `House`."""
        operator = await operator_in(self._services, tenant)
        async with self._services.database.principal_scope(operator, durable=False) as tx:
            rows = await feedback.shelf(tx)
        return [
            Shelved(
                external_id=row.external_id, url=row.url, department=row.department, scope=row.scope,
                state=hashlib.sha256(row.model_dump_json().encode()).hexdigest()[:16],
            )
            for row in rows
        ]  # fmt: skip

    async def furnish(self, tenant: str, documents: Sequence[DocumentDraft], progress: Progress) -> None:
        """See `House`."""
        async with (await self._operator()).operator_scope() as tx:
            await tenants.add_tenant(tx, tenant)
        try:
            await self._services.ingestion.ingest(operator_of(tenant), documents, progress)
        except EmbeddingUnavailable as error:
            detail = "The embedding model cannot be reached. Run the command again when it can."
            raise AppError(ErrorCode.LLM_UNAVAILABLE, detail, status=503) from error

    async def clear(self, tenant: str) -> None:
        """See `House`."""
        async with self._services.database.principal_scope(operator_of(tenant)) as tx:
            await feedback.empty(tx)
        async with (await self._operator()).operator_scope() as tx:
            await feedback.remove_tenant(tx, tenant_id_of(tenant))

    async def ask(
        self, principal: Principal, session_id: UUID | None, query: str, as_of: date | None
    ) -> AsyncIterator[Event]:
        """See `House`."""
        body = ChatBody(query=query, session_id=session_id, as_of=as_of)
        async for event in self._events(principal, body):
            yield event

    async def forget(self, principal: Principal, session_ids: Sequence[UUID]) -> None:
        """See `House`."""
        for session_id in session_ids:
            await self._services.rooms.sessions.delete(principal, session_id)

    @property
    def max_file_bytes(self) -> int:
        """See `DeepHouse`."""
        return self._services.attachments.limits.max_bytes

    async def attach(self, principal: Principal, name: str, content: bytes) -> UUID:
        """See `DeepHouse`."""
        return (await self._services.attachments.bring_in(principal, content, name)).file_id

    async def question(
        self, principal: Principal, query: str, files: Sequence[UUID], mode: Mode
    ) -> AsyncIterator[Event]:
        """See `DeepHouse`."""
        try:
            body = ChatBody(query=query, mode=mode, files=tuple(files), answer_style="short")
        except ValidationError as error:
            detail = f"query: {error.errors()[0]['msg']}"
            raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422) from error
        async for event in self._events(principal, body):
            yield event

    async def clear_up(self, principal: Principal, sessions: Sequence[UUID], files: Sequence[UUID]) -> None:
        """See `DeepHouse`."""
        await self.forget(principal, sessions)
        for file_id in files:
            await self._services.attachments.delete(principal, file_id)

    async def _events(self, principal: Principal, body: ChatBody) -> AsyncIterator[Event]:
        rooms = self._services.rooms
        run = await start_run(rooms, principal, body, None)
        try:
            async with asyncio.timeout(run.deadline_ms / 1000 + _PATIENCE_SECONDS):
                async for entry in rooms.journal.follow(principal, run.task_id):
                    yield entry.event
        except TimeoutError as error:
            detail = "The run did not end in time; is a worker running?"
            raise AppError(ErrorCode.RUN_DEADLINE_EXCEEDED, detail, status=504) from error

    async def _operator(self) -> Database:
        if self._maintenance is None:
            self._maintenance = await self._services.open_operator()
        return self._maintenance


async def corrections_in(services: Services, tenant: str) -> list[Correction]:
    """What the users of a tenant said answers rated bad should have been, the oldest question of each first.

    The operator may know who gave feedback and reads what as its giver, who has no rights but that. Raises `AppError`.
    """
    await operator_in(services, tenant)
    tenant_id = tenant_id_of(tenant)
    async with (await services.open_operator()).operator_scope() as operator:
        givers = await feedback.givers(operator, tenant_id)
    found: list[Correction] = []
    for user_id in givers:
        giver = Principal(
            tenant_id=tenant_id, user_id=user_id, department=GENERAL, departments=frozenset({GENERAL}),
            scopes=frozenset(),
        )  # fmt: skip
        async with services.database.principal_scope(giver, durable=False) as tx:
            found += await feedback.corrections(tx)
    return found
