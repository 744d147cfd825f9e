"""Starting a run and waiting for its end. The run lives in the journal: it outlives the request that asked for it."""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4, uuid5

from fastapi import Request

from app.api.auth import narrowed_by_context
from app.api.deps import AppServices, check_question
from app.api.schemas import ChatBody, WaitingView
from app.domain.answer import ErrorAnswer, in_seed_order
from app.domain.principal import Principal
from app.domain.tasks import ChatRequest, NewTask, Origin, Task
from app.errors import AppError, ErrorCode
from app.events import Event, FinalReport, Interrupt, TaskCancelled, TaskFailed
from app.storage.database import Transaction

_PATIENCE_SECONDS = 15
"""How much longer than the run's deadline a caller is kept waiting when no worker ends the run."""
_TITLE_CHARS = 200
_CLIENT_GONE = 499
_STATUS_OF_FAILURE: dict[str, int] = {
    ErrorCode.RUN_DEADLINE_EXCEEDED: 504,
    ErrorCode.TOOL_TIMEOUT: 504,
    ErrorCode.AGENT_EXECUTION_FAILED: 502,
    ErrorCode.TOOL_FAILED: 502,
    ErrorCode.LLM_UNAVAILABLE: 502,
    ErrorCode.BUDGET_EXHAUSTED: 502,
    ErrorCode.PERMISSION_DENIED: 403,
    ErrorCode.VALIDATION_FAILED: 422,
    ErrorCode.DATABASE_UNAVAILABLE: 503,
    ErrorCode.OVERLOADED: 503,
    ErrorCode.TASK_CANCELLED: 409,
}


@dataclass(frozen=True)
class StartedRun:
    """A registered root task, and as whom it runs."""

    principal: Principal
    task_id: UUID
    session_id: UUID
    is_repeated: bool
    """The Idempotency-Key named a run that existed already."""
    deadline_ms: int
    """How long it may take."""


async def start_run(
    services: AppServices,
    caller: Principal,
    body: ChatBody,
    idempotency_key: str | None,
    *,
    opens_session: bool = False,
    origin: Origin = "api",
) -> StartedRun:
    """Check the question and register its root task; nothing is registered when anything is refused.

    `opens_session`: the session the body names need not be there yet. `origin`: who makes a new session; a route that
    does not say so is a program's.

    Raises `AppError`: bad or too long question, wider ``user_context``, unknown agent, tool, session or file, a key
    that was used for another question, or a database that is away (503).
    """
    check_question(body.query, services.limits)
    if body.approve_plan and body.mode == "department":
        detail = "approve_plan: only deep runs wait for approval; use mode deep, or auto."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
    principal, request = as_asked(caller, body), body.request()
    if not services.agents.offers_for(principal, request.agents):
        raise AppError(ErrorCode.PERMISSION_DENIED, "No agent may be used with these rights.", status=403)
    request_hash = _hash_of(principal, body)
    task_id, session_id = _ids_for(principal, idempotency_key, request_hash, body.session_id)
    new_task = _root_task(task_id, session_id, request, services)
    if body.session_id is not None and not opens_session:
        await services.sessions.get(principal, body.session_id)
    if request.files:
        await services.attachments.check(principal, request.files)
    made: list[Transaction] = []

    async def note_made(tx: Transaction) -> None:
        """Done in the transaction that makes a task, and in no other."""
        made.append(tx)

    task = await services.registry.register_task(
        principal, new_task, idempotency_key=idempotency_key, request_hash=request_hash, within=note_made, origin=origin
    )
    return StartedRun(
        principal,
        task.task_id,
        task.session_id,
        is_repeated=not made,
        deadline_ms=services.limits.deadline_ms(request.mode),
    )


def _ids_for(
    principal: Principal, idempotency_key: str | None, request_hash: str, session_id: UUID | None
) -> tuple[UUID, UUID]:
    """Task and session of a question. The same key and request name the same task: a registration nobody heard the
    reply of and its repetition meet in one row."""
    if idempotency_key is None:
        return uuid4(), session_id or uuid4()
    task_id = uuid5(principal.user_id, f"{principal.tenant_id} {idempotency_key} {request_hash}")
    return task_id, session_id or uuid5(task_id, "session")


def as_asked(caller: Principal, body: ChatBody) -> Principal:
    """The caller with the fewer rights the body asked for."""
    if body.user_context is None:
        return caller
    return narrowed_by_context(caller, body.user_context.model_dump(exclude_none=True))


def _hash_of(principal: Principal, body: ChatBody) -> str:
    """What makes two requests the same: their bodies, and the rights they are asked with."""
    asked = body.model_dump_json(exclude={"user_context"})
    rights = f"{sorted(principal.scopes)} {sorted(principal.departments)}"
    return hashlib.sha256(f"{rights} {asked}".encode()).hexdigest()


def _root_task(task_id: UUID, session_id: UUID, request: ChatRequest, services: AppServices) -> NewTask:
    return NewTask(
        task_id=task_id,
        session_id=session_id,
        root_task_id=task_id,
        kind="chat",
        title=request.query[:_TITLE_CHARS],
        request=request.model_dump(mode="json"),
        deadline=services.now() + timedelta(milliseconds=services.limits.deadline_ms(request.mode)),
    )


async def wait_for_end(services: AppServices, run: StartedRun, request: Request) -> tuple[int, dict[str, Any]]:
    """The HTTP status and body of a run's end, or of its waiting for a decision; the run goes on without the caller.

    499 and nothing for a caller who hung up. Raises `AppError`: 504 when the run does not end in time, 409 when a run
    that was asked for twice still goes on.
    """
    if run.is_repeated:
        refuse_while_running(await services.registry.get_task(run.principal, run.task_id))
    ending = asyncio.ensure_future(_ending(services, run))
    gone = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({ending, gone}, return_when=asyncio.FIRST_COMPLETED)
        return _body_of(await ending, run) if ending.done() else (_CLIENT_GONE, {})
    except TimeoutError:
        detail = "The run was accepted but did not end in time; follow it by its task id."
        raise AppError(ErrorCode.RUN_DEADLINE_EXCEEDED, detail, status=504, task_id=run.task_id) from None
    finally:
        ending.cancel()
        gone.cancel()


def refuse_while_running(task: Task) -> None:
    """A repeated request is answered from the finished run, or from the one that waits for a decision; while it still
    runs the caller is told so."""
    if not task.status.is_terminal and task.waiting_for is None:
        detail = f"The first request with this key is still running as task {task.task_id}."
        raise AppError(ErrorCode.CONFLICT_IN_FLIGHT, detail, status=409, retry_after_seconds=1)


async def _ending(services: AppServices, run: StartedRun) -> Event:
    async with asyncio.timeout(run.deadline_ms / 1000 + _PATIENCE_SECONDS):
        return await services.journal.resting(run.principal, run.task_id)


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _body_of(event: Event, run: StartedRun) -> tuple[int, dict[str, Any]]:
    """Status and body for a run's terminal event, or for one with which it waits."""
    match event:
        case Interrupt():
            waiting = WaitingView(session_id=run.session_id, task_id=run.task_id, **event.model_dump(exclude={"type"}))
            return 202, waiting.model_dump(mode="json")
        case FinalReport(answer=answer):
            return 200, _with_ids(answer, run)
        case TaskFailed(answer=answer):
            return _STATUS_OF_FAILURE.get(answer.get("error_code", ""), 500), _with_ids(answer, run)
        case TaskCancelled(reason=reason):
            stopped = ErrorAnswer.bare(ErrorCode.TASK_CANCELLED.value, f"The task was stopped: {reason}")
            return 409, _with_ids(stopped, run)
        case _:
            raise AssertionError(f"{event.type} does not end a run")


def _with_ids(answer: Mapping[str, Any], run: StartedRun) -> dict[str, Any]:
    known = {**answer, "session_id": str(run.session_id), "task_id": str(run.task_id)}
    return in_seed_order({"outcome": "failed", **known})
