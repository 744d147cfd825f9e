"""What administrators see of the whole company: usage, evaluations, agents with their files, who may read what, and
tasks, which they may stop or have done anew."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query

from app.api.deps import AppServices, Caller, Services
from app.api.schemas import Label, Problem, View
from app.domain.documents import DocumentFields, Upload
from app.domain.knowledge import Language
from app.domain.oversight import Failure, Line, RunFigures, Spending, TaskFigures, Wanted
from app.domain.principal import Principal, Scope, user_id_of
from app.domain.tasks import ChatRequest, Task, TaskKind, TaskStatus
from app.errors import AppError, ErrorCode
from app.tasks.oversight import Retry

REFUSALS: dict[int | str, dict[str, Any]] = {403: {"model": Problem}}
"""Every route here may answer so."""
router = APIRouter(prefix="/admin", tags=["administration"], responses=REFUSALS)
_MOST_READERS = 500


def administrator_of(caller: Caller) -> Principal:
    """The caller, who administers the tenant. Raises `AppError` (403), before anything is looked up."""
    if not caller.is_admin:
        detail = "Only administrators of the company may do this: ask with a token that carries the role admin."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
    return caller


Administrator = Annotated[Principal, Depends(administrator_of)]


class AgentFileView(View):
    """An agent with its file."""

    name: str
    description: dict[Language, str]
    file: str
    """The file's name."""
    is_built_in: bool
    is_remote: bool
    """Whether workers elsewhere do its steps."""
    departments: tuple[str, ...]
    tools: tuple[str, ...]
    source: str
    """The YAML it was read from, when the service started."""
    failures: tuple[Failure, ...]
    """Of the company's runs, the latest first; no text of anybody."""


class AgentFileList(View):
    """Every agent, as it is offered."""

    since: datetime
    """Failures are counted from here."""
    agents: tuple[AgentFileView, ...]


class RunList(View):
    """Evaluations, newest first."""

    runs: tuple[RunFigures, ...]


class ReaderView(View):
    """A person, and whether that person may read something of this scope and department."""

    name: str
    display_name: str
    department: str
    may_read: bool
    lacks: Literal["scope", "department"] | None
    """The first part of the rule that does not hold."""


class ReaderList(View):
    """The people written down, by name."""

    readers: tuple[ReaderView, ...]
    is_cut: bool
    """Whether there are more than 500."""


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


@router.get("/usage", summary="Tokens, runs and cost, by day and person")
async def usage(caller: Administrator, services: Services, days: Annotated[int, Query(ge=1, le=366)] = 30) -> Spending:
    """Of the whole company, today included; days are UTC. Who asked how much, never what. Tokens outlive the
    conversation they were taken for."""
    return await services.oversight.spending(caller, services.now(), days)


@router.get("/evaluations", summary="Evaluations that were kept")
async def evaluations(caller: Administrator, services: Services) -> RunList:
    """What `conclave eval run` left on this machine: runs that asked about your company, or about documents of a
    dataset's own alone; in figures."""
    # Whose documents besides were asked about is left out.
    kept = (run.model_dump(exclude={"tenants"}) for run in await services.evaluations(caller))
    return RunList(runs=tuple(map(RunFigures.model_validate, kept)))


@router.get("/agents", summary="Agents with their files and failures")
async def agents(
    caller: Administrator, services: Services, days: Annotated[int, Query(ge=1, le=366)] = 30
) -> AgentFileList:
    """Read-only. Failures are steps that failed in the end, after other tries and tools."""
    since = services.now() - timedelta(days=days)
    failures = await services.oversight.failures(caller, since)
    shown = []
    for name in services.agents.names:
        spec, source = services.agents.spec(name), services.agents.source(name)
        failed = tuple(one for one in failures if one.agent == name)
        shown.append(
            AgentFileView(
                name=name, description=spec.description.model_dump(), file=source.path.name,
                is_built_in=source.is_built_in, is_remote=spec.remote,
                departments=spec.departments, tools=tuple(tool.name for tool in spec.tools), source=source.text,
                failures=failed,
            )
        )  # fmt: skip
    return AgentFileList(since=since, agents=tuple(shown))


@router.get("/readers", summary="Who may read a scope of a department")
async def readers(
    caller: Administrator, services: Services, scope: Scope, department: Annotated[Label, Query()]
) -> ReaderList:
    """By the rule of `conclave explain-access`. People who are known by their tokens alone are not among them: their
    tokens say what they may read."""
    found = await services.oversight.people(caller)
    shown = []
    for one in found[:_MOST_READERS]:
        may_read = one.principal().may_read(scope, department)
        lacks = None if may_read else "department" if scope in one.scopes else "scope"
        shown.append(ReaderView.model_validate({**one.model_dump(), "may_read": may_read, "lacks": lacks}))
    return ReaderList(readers=tuple(shown), is_cut=len(found) > _MOST_READERS)


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
