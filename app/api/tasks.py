"""A run and its journal: look, follow, stop, decide about its plan, say what the answer was worth; figures of many."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query
from pydantic import Field
from starlette.responses import Response

from app.api.deps import AppServices, Caller, Services
from app.api.schemas import Body, DecisionBody, Moment, Problem, Text, View
from app.api.sse import EventStream, JournalStream
from app.domain.principal import Principal
from app.domain.tasks import Task, TaskView
from app.journal import not_found
from app.tasks.approvals import Decision
from app.tasks.registry import asker_within
from app.tasks.reviews import Picture

router = APIRouter(prefix="/tasks", tags=["tasks"], responses={404: {"model": Problem}})
performance_router = APIRouter(tags=["performance"])
_MAX_SEQ = 2**31 - 1

_FIGURES_DAYS = 30


class FeedbackBody(Body):
    """What the asker thinks of an answer."""

    rating: Annotated[int, Field(strict=True, ge=-1, le=1)]
    """-1 bad, 1 good, 0 takes back what was said."""
    correction: Text = Field("", max_length=2_000)
    """What the answer should have said."""


class FeedbackView(View):
    """Feedback as it is kept."""

    task_id: UUID
    rating: int
    correction: str
    created_at: datetime
    updated_at: datetime
    """When it last changed."""


@router.get("/{task_id}", summary="State and trace of a task")
async def task(task_id: UUID, caller: Caller, services: Services) -> TaskView:
    """State, plan, result, flow_action and metadata (with performance_metrics) of a task, and its steps. An
    administrator who opens somebody else's is written to the audit."""
    return view_of(*await services.registry.open_task(caller, task_id))


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
    return view_of(*await services.registry.open_task(caller, task_id))


@router.put("/{task_id}/feedback", summary="Say what you think of an answer", responses={404: {"model": Problem}})
async def feedback(task_id: UUID, body: FeedbackBody, caller: Caller, services: Services) -> FeedbackView:
    """Thumbs and a correction for an answer of yours, in place of what you said before. The same again changes nothing.

    A correction of a bad answer is shown, with its question and without a name, to owners of the documents it cited.
    """
    kept = await services.reviews.put_feedback(caller, task_id, body.rating, body.correction.strip())
    return FeedbackView(task_id=task_id, **kept.model_dump())


@performance_router.get("/performance", summary="Performance metrics of many runs", responses={422: {"model": Problem}})
async def performance(
    caller: Caller,
    services: Services,
    since: Annotated[Moment | None, Query(description="With its time zone; 30 days ago when left out")] = None,
) -> Picture:
    """Your own runs that ended since then; for an administrator the whole tenant's. Times are means over the runs,
    calls are sums, qualities the most frequent ones."""
    return await services.reviews.picture(caller, since or services.now() - timedelta(days=_FIGURES_DAYS))


async def own_run(services: AppServices, caller: Principal, task_id: UUID) -> Task:
    """A run the caller asked for; an administrator may look at others', but neither follow nor stop them.

    Raises `AppError` (404).
    """
    root = await services.registry.get_task(caller, task_id)
    if asker_within(caller, root).user_id != caller.user_id:
        raise not_found()
    return root


def _seq_of(last_event_id: str | None) -> int:
    text = (last_event_id or "").strip()
    return min(int(text), _MAX_SEQ) if text.isascii() and text.isdecimal() and len(text) <= 10 else 0


def view_of(task: Task, children: Sequence[Task]) -> TaskView:
    """A task as it is shown, with its steps."""
    shown = task.model_dump(include=TaskView.model_fields.keys() - {"children", "expires_at"})
    return TaskView(
        **shown,
        agent=task.assignee_agent_id,
        expires_at=task.expires_at if task.waiting_for else None,
        children=tuple(view_of(child, ()) for child in children),
    )
