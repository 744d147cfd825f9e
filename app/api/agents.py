"""What the caller may use."""

from fastapi import APIRouter

from app.api.deps import Caller, Services
from app.api.schemas import AgentList, AgentView

router = APIRouter(tags=["agents"])


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
