"""The tasks of the company: figures of all, stopping one, having one done anew."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from app.api.administration import REFUSALS, Administrator
from app.api.deps import AppServices, Services
from app.api.schemas import Label, Problem, View
from app.domain.documents import DocumentFields, Upload
from app.domain.oversight import Line, TaskFigures, Wanted
from app.domain.principal import Principal, user_id_of
from app.domain.tasks import ChatRequest, Task, TaskKind, TaskStatus
from app.errors import AppError, ErrorCode
from app.tasks.oversight import Retry

router = APIRouter(prefix="/admin", tags=["administration"], responses=REFUSALS)


class TaskFiguresView(TaskFigures):
    """A task of anybody in the company, in figures: no title, question, plan, answer or evidence."""

    may_be_stopped: bool
    may_be_retried: bool


class TaskFiguresPage(View):
    """Tasks, newest first."""

    tasks: tuple[TaskFiguresView, ...]
    next_cursor: str | None
    """Ask again with ``?cursor=`` for the next page; null at the end."""


class LineList(View):
    """Every queue with jobs of the company."""

    lines: tuple[Line, ...]


class RetriedView(View):
    """The run that takes the place of another; its owner finds it in the same conversation."""

    task_id: UUID
    of: UUID
    status: TaskStatus


@router.get("/tasks", summary="The company's tasks, in figures")
async def listing(
    caller: Administrator,
    services: Services,
    status: TaskStatus | None = None,
    kind: Annotated[TaskKind | None, Query(description="Left out: whole runs, without their steps")] = None,
    user: Annotated[Label | None, Query(description="Name or id of who asked")] = None,
    cursor: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> TaskFiguresPage:
    """Of everybody, newest first. Figures alone: what somebody asked, and was told, stays with that person."""
    user_id = None if user is None else user_id_of(caller.tenant_id, user)
    wanted = Wanted(status=status, kind=kind, user_id=user_id)
    found, further = await services.oversight.page(caller, wanted, cursor, limit)
    return TaskFiguresPage(tasks=tuple(_view(caller, one) for one in found), next_cursor=further)


@router.get("/queues", summary="The company's jobs, by queue")
async def queues(caller: Administrator, services: Services) -> LineList:
    """How many wait and how many are with workers; no job of another company is counted."""
    return LineList(lines=tuple(await services.oversight.lines(caller)))


@router.post("/tasks/{task_id}/cancel", summary="Stop anybody's task", responses={404: {"model": Problem}})
async def cancel(task_id: UUID, caller: Administrator, services: Services) -> TaskFiguresView:
    """Stops the run; who asked is told that an administrator did. A finished one stays as it is. Idempotent; written to
    the audit."""
    return _view(caller, await services.oversight.stop(caller, task_id))


@router.post(
    "/tasks/{task_id}/retry",
    summary="Have a failed task done anew",
    status_code=202,
    responses={404: {"model": Problem}, 409: {"model": Problem}},
)
async def retry(task_id: UUID, caller: Administrator, services: Services) -> RetriedView:
    """Registers the same request for its owner, with the rights it was asked with that the owner still has; never with
    yours. Not for a run that was answered, is still running, or was stopped by its owner (409). The same run is given
    however often it is asked for; written to the audit."""
    wanted = await services.oversight.retry(caller, task_id)
    register = _document_anew if wanted.of.kind == "ingest" else _question_anew
    task = await register(services, caller, wanted)
    return RetriedView(task_id=task.task_id, of=task_id, status=task.status)


async def _question_anew(services: AppServices, caller: Principal, wanted: Retry) -> Task:
    request = ChatRequest.model_validate(wanted.of.request)
    if not services.agents.offers_for(wanted.owner, request.agents):
        detail = "No agent may be used with the rights the owner still has."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
    await services.attachments.check(wanted.owner, request.files)
    await services.oversight.note_retry(caller, wanted.of.task_id)
    deadline = services.now() + timedelta(milliseconds=services.limits.deadline_ms(request.mode))
    return await services.registry.register_task(wanted.owner, wanted.new_task(deadline))


async def _document_anew(services: AppServices, caller: Principal, wanted: Retry) -> Task:
    """The same file or text as a new version, with the document's fields as they are now."""
    found = await services.oversight.known(wanted)
    if found is not None:
        return found
    kept = await services.oversight.arrival(wanted.owner, wanted.of.task_id)
    said = {"external_id": kept.external_id, "created_at": kept.draft.get("created_at")}
    if kept.content is None:
        said |= {"title": kept.draft.get("title"), "lang": kept.draft.get("lang")}
    fields = DocumentFields.model_validate({name: value for name, value in said.items() if value})
    upload = Upload(fields=fields, content=kept.content, file_name=kept.file_name, text=kept.text)
    services.ingestion.intake.check(wanted.owner, upload)
    await services.oversight.note_retry(caller, wanted.of.task_id)
    return await services.registry.register_task(
        wanted.owner,
        wanted.new_task(None),
        within=lambda tx: services.ingestion.intake.take_in(tx, upload, wanted.task_id),
    )


def _view(caller: Principal, found: TaskFigures) -> TaskFiguresView:
    return TaskFiguresView(
        **found.model_dump(),
        may_be_stopped=found.can_be_stopped,
        may_be_retried=found.can_be_retried_by(caller.user_id),
    )
