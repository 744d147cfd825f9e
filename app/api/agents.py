"""What the caller may use."""

from fastapi import APIRouter

from app.api.deps import Caller, Services
from app.api.schemas import View

router = APIRouter(tags=["agents"])


class AgentView(View):
    """An agent the caller may use."""

    name: str
    description: str
    tools: dict[str, str]
    """Tool name to description."""
    departments: tuple[str, ...]


class AgentList(View):
    """What the caller may use."""

    agents: tuple[AgentView, ...]
    departments: tuple[str, ...]
    """Departments the caller may read something of."""
    permissions: tuple[str, ...]
    roles: tuple[str, ...]


@router.get("/agents", summary="Agents, tools and departments you may use")
async def agents(caller: Caller, services: Services) -> AgentList:
    """Exactly what a question of yours may be planned with."""
    offers = services.agents.offers_for(caller, None)
    return AgentList(
        agents=tuple(
            AgentView(name=offer.name, description=offer.description, tools=offer.tools, departments=offer.departments)
            for offer in offers
        ),
        departments=tuple(services.agents.accessible_departments(caller)),
        permissions=tuple(sorted(caller.scopes)),
        roles=tuple(sorted(caller.roles)),
    )
