"""The worker of a process: which queues it serves, what is done with what it takes from them, and what follows when
documents came in."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from uuid import UUID

import structlog

from app.agents.registry import AgentRegistry
from app.agents.remote import StepService
from app.agents.spec import ALL_QUEUES
from app.api.deps import AppServices
from app.domain.answer import ErrorAnswer
from app.domain.documents import DocumentStatus
from app.domain.documents import Progress as Stage
from app.domain.tasks import TaskKind, TaskStatus
from app.embedding import EmbeddingUnavailable
from app.errors import AppError, ErrorCode
from app.events import FinalReport, Progress, TaskFailed
from app.ingestion.pipeline import Ingestion
from app.ingestion.stages import Published
from app.main.connectors import connector_loops
from app.main.storage import Storage
from app.settings import Settings
from app.storage import large_tenants
from app.storage.database import Database
from app.tasks.queue import IN_PROCESS
from app.tasks.registry import TaskRegistry
from app.tasks.run import Handler, TaskRun
from app.tasks.watchdog import Loop
from app.tasks.worker import Worker
from app.telemetry import log_context
from app.trust.admission import Turns
from app.trust.retention import Days, keep_sweeping

_SETTLE_SECONDS = 1.0
"""Documents come in crowds; their tenant is looked at once."""
_PAUSES_SECONDS = (1, 2, 5, 10, 30, 60, 120)
"""Between tries while the embedding model is away; then the version fails with advice."""
_MESSAGES = {
    DocumentStatus.RECEIVED: "Waiting",
    DocumentStatus.PARSING: "Reading the file",
    DocumentStatus.CHUNKING: "Cutting the text into chunks",
    DocumentStatus.EMBEDDING: "Making vectors",
    DocumentStatus.READY: "Published",
    DocumentStatus.PARTIAL: "Published, with parts that could not be read",
    DocumentStatus.FAILED: "Failed",
}
_log = structlog.get_logger(__name__)


def served_queues(asked: Collection[str], agents: AgentRegistry) -> tuple[str, ...]:
    """The queues of a worker: ``chat``, ``ingest``, names of agents, or ``all`` (the first two and every remote agent).

    Raises `AppError` VALIDATION_FAILED for other names, and for none.
    """
    known = (*IN_PROCESS, *agents.names)
    if unknown := [name for name in asked if name not in (*known, ALL_QUEUES)]:
        detail = f"There is no queue '{unknown[0]}'; the queues are {', '.join(known)}, or {ALL_QUEUES}."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=422)
    if not asked:
        raise AppError(ErrorCode.VALIDATION_FAILED, f"Name at least one queue of {', '.join(known)}.", status=422)
    every = (*IN_PROCESS, *agents.remote) if ALL_QUEUES in asked else ()
    return tuple(name for name in known if name in asked or name in every)


def worker_of(
    settings: Settings,
    storage: Storage,
    rooms: AppServices,
    ingestion: Ingestion,
    steps: StepService,
    queues: Collection[str],
) -> Worker:
    """A worker that serves `queues`; to be started."""
    limits = {name: rooms.agents.spec(name).max_concurrency or 0 for name in rooms.agents.names}
    return Worker(
        storage.database,
        rooms.registry,
        rooms.journal,
        _handlers(rooms, ingestion, Turns(settings.running_per_user)),
        queues=served_queues(queues, rooms.agents),
        step_handler=steps.run,
        step_limits=limits,
        max_concurrent_runs=settings.worker_max_concurrent_runs,
        max_ingestions=settings.ingestion_max_concurrent,
        silence_seconds=settings.worker_silence_seconds,
        further_loops=retention_loops(settings, storage.open_operator) | connector_loops(rooms, queues),
    )


def retention_loops(settings: Settings, open_operator: Callable[[], Awaitable[Database]]) -> dict[str, Loop]:
    """The loop that removes what is too old, where the settings say that something ever is."""
    days = Days(*(getattr(settings, f"retention_{kind}_days") for kind in Days._fields))
    sweeping = partial(keep_sweeping, open_operator=open_operator, days=days, tell=_log.info)
    return {"remove": sweeping} if any(days) else {}


def _handlers(rooms: AppServices, ingestion: Ingestion, turns: Turns) -> dict[TaskKind, Handler]:
    async def run_chat(run: TaskRun) -> None:
        async with turns.of(run.principal.tenant_id, run.principal.user_id):
            with log_context(task_id=run.task.task_id, session_id=run.task.session_id, attempt=run.attempt):
                # Asked of the deep flow, or gone there by itself in an earlier attempt.
                is_deep = run.task.request.get("mode") == "deep" or await rooms.deep.has_begun(run)
                await (rooms.deep if is_deep else rooms.flow).run(run)

    async def ingest(run: TaskRun) -> None:
        await run_ingestion(run, ingestion, rooms.registry)

    return {"chat": run_chat, "ingest": ingest}


async def run_ingestion(run: TaskRun, ingestion: Ingestion, registry: TaskRegistry) -> None:
    """Take a document's version to its end and tell every stage in the journal."""
    document_id = UUID(run.task.request["document_id"])

    async def tell(stage: Stage) -> None:
        run.writer.append(progress_of(stage))

    with log_context(task_id=run.task.task_id, attempt=run.attempt):
        for pause in (*_PAUSES_SECONDS, None):
            try:
                published = await ingestion.process(run.principal, document_id, run.task.task_id, tell)
                break
            except EmbeddingUnavailable as error:
                if pause is None:
                    detail = "The embedding model cannot be reached. Bring the document in again when it can."
                    raise AppError(ErrorCode.LLM_UNAVAILABLE, detail, status=503) from error
                await asyncio.sleep(pause)
    await _finish(run, registry, published)


def progress_of(stage: Stage) -> Progress:
    """A stage as the journal tells it, in the form of §9.2 of the flow."""
    return Progress(
        node="ingestion",
        output={
            "processing_status": stage.stage.value,
            "progress_percentage": stage.percentage,
            "progress_message": _MESSAGES[stage.stage],
            "chunks_total": stage.chunks_total,
            "chunks_embedded": stage.chunks_embedded,
        },
    )


async def _finish(run: TaskRun, registry: TaskRegistry, published: Published) -> None:
    ids = {"session_id": str(run.task.session_id), "task_id": str(run.task.task_id)}
    told = {**published.model_dump(mode="json"), **ids}
    if published.status is not DocumentStatus.FAILED:
        await registry.finish(run, status=TaskStatus.COMPLETED, result=told, event=FinalReport(answer=told))
        return
    message = f"{published.code}: {published.detail}"
    result = {**ErrorAnswer.bare(ErrorCode.DOCUMENT_REJECTED.value, message), **told, "outcome": "failed"}
    await registry.finish(
        run, status=TaskStatus.FAILED, result=result, error_message=message, event=TaskFailed(answer=result)
    )


class Balancing:
    """Looks at tenants whose documents changed, one round at a time; does nothing without the owner's address."""

    def __init__(self, owner_url: str, settle_seconds: float = _SETTLE_SECONDS):
        self._owner_url, self._settle_seconds = owner_url, settle_seconds
        self._waiting: set[UUID] = set()
        self._round: asyncio.Task[None] | None = None

    def nudge(self, tenant_id: UUID) -> None:
        """Have the tenant looked at soon."""
        if not self._owner_url:
            return
        self._waiting.add(tenant_id)
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._go_round())

    async def aclose(self) -> None:
        """Stop; an index on its way is removed by the next one who balances."""
        if self._round is not None:
            self._round.cancel()
            await asyncio.gather(self._round, return_exceptions=True)

    async def _go_round(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._settle_seconds)
            tenants = sorted(self._waiting)
            self._waiting.clear()
            try:
                for change in await large_tenants.balance(self._owner_url, tenants):
                    _log.info("tenant_" + change.action, tenant_id=change.tenant_id, chunks=change.chunks)
            except Exception as error:  # the tenant is searched exactly meanwhile, which is right, only slower
                _log.warning("tenants_not_balanced", error_class=type(error).__name__)
