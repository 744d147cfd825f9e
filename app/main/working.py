"""The worker of a process: which queues it serves, and what is done with what it takes from them."""

from collections.abc import Collection
from dataclasses import dataclass

from app.agents.dispatch import Dispatch, RemoteSteps
from app.agents.registry import AgentRegistry
from app.agents.remote import StepService
from app.agents.run import StepRunner
from app.agents.spec import ALL_QUEUES
from app.api.deps import AppServices
from app.domain.tasks import TaskKind
from app.errors import AppError, ErrorCode
from app.ingestion.pipeline import Ingestion
from app.main.ingesting import run_ingestion
from app.reasoning.budget import Ledger
from app.settings import Settings
from app.storage.database import Database
from app.tasks.queue import IN_PROCESS
from app.tasks.run import Handler, TaskRun
from app.tasks.worker import Worker
from app.telemetry import log_context


@dataclass(frozen=True)
class StepRooms:
    """How steps are done in this process: led by its runs, and served to leaders elsewhere."""

    dispatch: Dispatch
    service: StepService

    @classmethod
    def of(cls, runner: StepRunner, remote: RemoteSteps, agents: AgentRegistry, ledger: Ledger) -> "StepRooms":
        """Both sides on one runner."""
        return cls(Dispatch(agents, runner, remote), StepService(runner, remote.steps, ledger))


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
    database: Database,
    rooms: AppServices,
    ingestion: Ingestion,
    steps: StepRooms,
    queues: Collection[str],
) -> Worker:
    """A worker that serves `queues`; to be started."""
    limits = {name: rooms.agents.spec(name).max_concurrency or 0 for name in rooms.agents.names}
    return Worker(
        database,
        rooms.registry,
        rooms.journal,
        _handlers(rooms, ingestion),
        queues=served_queues(queues, rooms.agents),
        step_handler=steps.service.run,
        step_limits=limits,
        max_concurrent_runs=settings.worker_max_concurrent_runs,
        max_ingestions=settings.ingestion_max_concurrent,
        silence_seconds=settings.worker_silence_seconds,
    )


async def _is_deep(rooms: AppServices, run: TaskRun) -> bool:
    """Whether a question was asked of the deep flow, or went there by itself in an earlier attempt."""
    return run.task.request.get("mode") == "deep" or await rooms.deep.has_begun(run)


def _handlers(rooms: AppServices, ingestion: Ingestion) -> dict[TaskKind, Handler]:
    async def run_chat(run: TaskRun) -> None:
        with log_context(task_id=run.task.task_id, session_id=run.task.session_id, attempt=run.attempt):
            await (rooms.deep if await _is_deep(rooms, run) else rooms.flow).run(run)

    async def ingest(run: TaskRun) -> None:
        await run_ingestion(run, ingestion, rooms.registry)

    return {"chat": run_chat, "ingest": ingest}
