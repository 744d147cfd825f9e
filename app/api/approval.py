"""Approving a plan before it runs: the decision of whom the run waits for."""

from uuid import UUID

from fastapi import APIRouter

from app.api.deps import Caller, Services
from app.api.schemas import DecisionBody, Problem
from app.api.tasks import own_run, view_of
from app.domain.tasks import TaskView
from app.tasks.approvals import Decision

router = APIRouter(prefix="/tasks", tags=["tasks"])


@router.post(
    "/{task_id}/approve",
    summary="Approve or refuse a plan",
    responses={404: {"model": Problem}, 409: {"model": Problem, "description": "Nothing waits for this decision"}},
)
async def approve(task_id: UUID, body: DecisionBody, caller: Caller, services: Services) -> TaskView:
    """For a run of yours that was asked with ``approve_plan`` and waits (`interrupt` event). Approved, it goes on;
    refused with feedback, it plans again and asks again; refused without, it is cancelled. The same decision again
    changes nothing."""
    await own_run(services, caller, task_id)
    said = Decision(approved=body.approved, feedback=body.feedback.strip(), attempt=body.attempt)
    await services.approvals.decide(caller, task_id, said)
    found = await services.registry.get_task(caller, task_id)
    return view_of(found, await services.registry.children(caller, task_id))
