"""What the company asked of models, by day and person."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.admin.access import Administrator
from app.api.deps import Services
from app.domain.oversight import Spending

router = APIRouter(prefix="/admin")


@router.get("/usage", summary="Tokens, runs and cost, by day and person")
async def usage(caller: Administrator, services: Services, days: Annotated[int, Query(ge=1, le=366)] = 30) -> Spending:
    """Of the whole company, today included; days are UTC. Who asked how much, never what. Tokens outlive the
    conversation they were taken for."""
    return await services.oversight.spending(caller, services.now(), days)
