"""The agents as their files describe them, and what their steps failed with."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from app.api.admin.access import Administrator
from app.api.deps import Services
from app.api.schemas import View
from app.domain.knowledge import Language
from app.domain.oversight import Failure

router = APIRouter(prefix="/admin")


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
