"""What administrators see of the whole company: usage, evaluations, agents with their files, who may read what."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query

from app.api.deps import Caller, Services
from app.api.schemas import Label, Problem, View
from app.domain.knowledge import Language
from app.domain.oversight import Failure, RunFigures, Spending
from app.domain.principal import Principal, Scope
from app.errors import AppError, ErrorCode

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
    kept = (run.model_dump(exclude={"tenants"}) for run in await services.evaluations.runs(caller))
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
