"""The services of this process as what is evaluated, and what figures over them depend on."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import date
from uuid import UUID

from app import __version__
from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal, tenant_id_of
from app.embedding import EmbeddingUnavailable
from app.errors import AppError, ErrorCode
from app.evaluation.report import Circumstances
from app.evaluation.running import KnownDocument, Progress
from app.events import Event
from app.main import Services
from app.main.storage import operator_claims
from app.settings import Settings
from app.storage import documents, tenants
from app.storage.database import Database

_TOLD_SETTINGS = {
    "llm_answer_mode", "max_retries", "enable_caching", "conflict_resolution_threshold", "min_relevance_score",
    "enable_follow_up_questions", "max_queries_per_agent", "enable_parallel_execution", "resolution_rules",
    "resolution_weights", "task_deadline_ms", "task_token_budget",
}  # fmt: skip
_PATIENCE_SECONDS = 15
"""Beyond the run's own deadline."""


class LocalApp:
    """See `House`; needs services whose worker runs."""

    def __init__(self, services: Services):
        self.services = services
        self._maintenance: Database | None = None

    async def rights_of(self, user: str) -> Principal:
        """See `House`."""
        return (await self.services.claims_of(user)).principal()

    async def known_documents(self, tenant: str) -> list[KnownDocument]:
        """See `House`."""
        operator = (await self.services.storage.operator_of(tenant)).principal()
        async with self.services.database.principal_scope(operator, durable=False) as tx:
            return [KnownDocument(**row) for row in await documents.known(tx)]

    async def furnish(self, tenant: str, documents: Sequence[DocumentDraft], progress: Progress) -> None:
        """See `House`."""
        async with (await self._operator()).operator_scope() as tx:
            await tenants.add_tenant(tx, tenant)
        try:
            await self.services.ingestion.ingest(operator_claims(tenant).principal(), documents, progress)
        except EmbeddingUnavailable as error:
            detail = "The embedding model cannot be reached. Run the command again when it can."
            raise AppError(ErrorCode.LLM_UNAVAILABLE, detail, status=503) from error

    async def clear(self, tenant: str) -> None:
        """See `House`."""
        async with self.services.database.principal_scope(operator_claims(tenant).principal()) as tx:
            await documents.delete_all(tx)
        async with (await self._operator()).operator_scope() as tx:
            await tenants.remove_tenant(tx, tenant_id_of(tenant))

    async def ask(
        self, principal: Principal, session_id: UUID | None, query: str, as_of: date | None
    ) -> AsyncIterator[Event]:
        """See `House`."""
        body = ChatBody(query=query, session_id=session_id, as_of=as_of)
        async for event in self.events_of(principal, body):
            yield event

    async def forget(self, principal: Principal, session_ids: Sequence[UUID]) -> None:
        """See `House`."""
        for session_id in session_ids:
            await self.services.rooms.sessions.delete(principal, session_id)

    async def events_of(self, principal: Principal, body: ChatBody) -> AsyncIterator[Event]:
        """Start a run and follow it to its end. Raises `AppError` when it does not end in time."""
        rooms = self.services.rooms
        run = await start_run(rooms, principal, body, None)
        try:
            async with asyncio.timeout(run.deadline_ms / 1000 + _PATIENCE_SECONDS):
                async for entry in rooms.journal.follow(principal, run.task_id):
                    yield entry.event
        except TimeoutError as error:
            detail = "The run did not end in time; is a worker running?"
            raise AppError(ErrorCode.RUN_DEADLINE_EXCEEDED, detail, status=504) from error

    async def _operator(self) -> Database:
        self._maintenance = self._maintenance or await self.services.storage.open_operator()
        return self._maintenance


def offline(settings: Settings) -> Settings:
    """Without a language model and without the web."""
    off: dict[str, object] = dict.fromkeys(("llm_base_url", "llm_model", "llm_small_model"), "")
    return settings.model_copy(update={**off, "web_allowed_hosts": frozenset(), "local_models": False})


def circumstances_of(services: Services, concurrency: int) -> Circumstances:
    """Tell what the figures of a run over these services depend on."""
    ports = services.rooms.flow.ports
    return Circumstances(
        version=__version__, mind=ports.reasoner.identity, space=ports.corpus.space,
        settings=services.settings.model_dump(mode="json", include=_TOLD_SETTINGS),
        concurrency=concurrency, today=services.rooms.now().date().isoformat(),
    )  # fmt: skip
