"""All routes for administrators, under one address."""

from fastapi import APIRouter

from app.api.admin import agents, evaluations, readers, tasks, usage
from app.api.admin.access import REFUSALS

router = APIRouter(tags=["administration"], responses=REFUSALS)
for part in (tasks, usage, evaluations, agents, readers):
    router.include_router(part.router)
