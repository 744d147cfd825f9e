"""A run and its journal: look, follow, stop."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from app.api.deps import AppServices, Caller, Services
from app.api.schemas import Problem
from app.api.sse import EventStream, JournalStream
from app.domain.principal import Principal
from app.domain.tasks import Task, TaskView
from app.journal import not_found

router = APIRouter(prefix="/tasks", tags=["tasks"], responses={404: {"model": Problem}})
_MAX_SEQ = 2**31


@router.get("/{task_id}", summary="State and trace of a task")
async def task(task_id: UUID, caller: Caller, services: Services) -> TaskView:
    """State, plan, result, flow_action and metadata (with performance_metrics) of a task, and its steps."""
    found = await services.registry.get_task(caller, task_id)
    root = found if found.parent_task_id is None else await services.registry.get_task(caller, found.root_task_id)
    _refuse_beyond_rights(caller, root)
    return view_of(found, await services.registry.children(caller, task_id))


@router.get(
    "/{task_id}/events",
    summary="Replay and follow a task's journal",
    response_class=EventStream,
    response_model=None,
    responses={200: {"content": {"text/event-stream": {}}}, 204: {"description": "Nothing will follow"}},
)
async def events(
    task_id: UUID,
    caller: Caller,
    services: Services,
    after: Annotated[int, Query(ge=0, le=_MAX_SEQ, description="Start behind this seq")] = 0,
    last_event_id: Annotated[str | None, Header(description="Set by browsers; anything unreadable means 0")] = None,
) -> Response:
    """Every event behind `after` (or `Last-Event-ID`), then the new ones until the terminal event. 204 when the
    terminal event was seen already; an id the journal never gave out replays it from the beginning."""
    root = await own_run(services, caller, task_id)
    seen = max(after, _seq_of(last_event_id))
    if seen and not await services.journal.read(caller, task_id, seen):
        told = await services.journal.read(caller, task_id)
        if seen > len(told):
            seen = 0
        elif root.status.is_terminal:
            return Response(status_code=204)
    return JournalStream(services.journal.follow(caller, task_id, seen))


@router.post("/{task_id}/cancel", summary="Stop a task")
async def cancel(task_id: UUID, caller: Caller, services: Services) -> TaskView:
    """Stops a run of yours; a finished one stays as it is. Idempotent."""
    await own_run(services, caller, task_id)
    await services.registry.cancel(caller, task_id)
    return await task(task_id, caller, services)


async def own_run(services: AppServices, caller: Principal, task_id: UUID) -> Task:
    """A run the caller asked for; an administrator may look at others', but neither follow nor stop them.

    Raises `AppError` (404).
    """
    root = await services.registry.get_task(caller, task_id)
    if root.principal is None or root.principal.user_id != caller.user_id:
        raise not_found()
    _refuse_beyond_rights(caller, root)
    return root


def _refuse_beyond_rights(caller: Principal, root: Task) -> None:
    """A run holds what its asker could read then; who has fewer rights today does not see it.

    Raises `AppError` (404), the same as for an unknown id.
    """
    asker = root.principal
    if asker is not None and not (asker.scopes <= caller.scopes and asker.departments <= caller.departments):
        raise not_found()


def _seq_of(last_event_id: str | None) -> int:
    text = (last_event_id or "").strip()
    return min(int(text), _MAX_SEQ) if text.isascii() and text.isdecimal() and len(text) <= 10 else 0


def view_of(task: Task, children: list[Task] | tuple[Task, ...]) -> TaskView:
    """A task as it is shown, with its steps."""
    return TaskView(
        task_id=task.task_id,
        session_id=task.session_id,
        parent_task_id=task.parent_task_id,
        root_task_id=task.root_task_id,
        kind=task.kind,
        title=task.title,
        description=task.description,
        status=task.status,
        agent=task.assignee_agent_id,
        attempt=task.attempt,
        plan=task.plan,
        result=task.result,
        flow_action=task.flow_action,
        metadata=task.metadata,
        error_message=task.error_message,
        created_at=task.created_at,
        updated_at=task.updated_at,
        completed_at=task.completed_at,
        waiting_for=task.waiting_for,
        expires_at=task.expires_at if task.waiting_for else None,
        children=tuple(view_of(child, ()) for child in children),
    )
