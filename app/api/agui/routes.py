"""`POST /ag-ui`: a run of a thread, as a stream."""

from uuid import UUID

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.responses import Response

from app.api.agui.projection import Projection, Run, refusal
from app.api.agui.shapes import AskedMessage, ResumeEntry, RunInput
from app.api.chat import IdempotencyKey
from app.api.deps import Caller, Rooms, TheRooms
from app.api.problem import describe_validation
from app.api.projected import Chunk, ProjectedStream, until_lost
from app.api.runs import start_run
from app.api.sse import EventStream
from app.api.tasks import own_run
from app.api.threads import question_body, session_of
from app.api.waiting import DecisionBody
from app.domain.principal import Principal
from app.domain.tasks import Task
from app.errors import AppError, ErrorCode
from app.events import Interrupt
from app.tasks.approvals import Decision

router = APIRouter(tags=["ag-ui"])


@router.post(
    "/ag-ui",
    summary="Ask, as AG-UI's clients do",
    response_class=EventStream,
    response_model=None,
    responses={200: {"content": {"text/event-stream": {}}, "description": "AG-UI 1.0 events, one a `data:` line"}},
)
async def run_agent(
    body: RunInput, caller: Caller, rooms: TheRooms, idempotency_key: IdempotencyKey = None
) -> Response:
    """Asks the last message in a thread, follows a run that was asked before, or goes on with one that waited for its
    plan to be approved (`resume`)."""
    if body.resume:
        run = await _decided(rooms, caller, body, body.resume[0])
    else:
        run = await _followed(rooms, caller, body) or await _asked(rooms, caller, body, idempotency_key)
    entries = rooms.journal.follow(caller, run.task_id)
    return ProjectedStream(until_lost(Projection(run).of(entries), entries, _told))


def _told(error: AppError) -> tuple[Chunk]:
    return (refusal(error.detail, error.code.value),)


async def _asked(rooms: Rooms, caller: Principal, body: RunInput, idempotency_key: str | None) -> Run:
    try:
        asked = AskedMessage.model_validate(body.messages[-1]) if body.messages else None
        wishes = body.wishes
    except ValidationError as invalid:
        raise AppError(ErrorCode.PAYLOAD_INVALID, describe_validation(invalid.errors()), status=422) from None
    question = asked.question if asked is not None else None
    if question is None:
        detail = "messages: the last one must be the user's and hold text only; bring files by POST /api/v1/files."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
    chat = question_body(question, session_of(caller, body.threadId), wishes)
    key = idempotency_key or f"ag-ui {body.runId}"
    started = await start_run(rooms, caller, chat, key, opens_session=True)
    decided = await _decided_until(rooms, caller, started.task_id) if started.is_repeated else 0
    return Run(body.threadId, body.runId, started.task_id, started.session_id, decided=decided)


async def _followed(rooms: Rooms, caller: Principal, body: RunInput) -> Run | None:
    """A run that is named by its task."""
    try:
        task = await _run_of(rooms, caller, UUID(body.runId))
    except ValueError:
        return None
    if task is None or task.kind != "chat":
        return None
    decided = await _decided_until(rooms, caller, task.task_id)
    return Run(body.threadId, body.runId, task.task_id, task.session_id, decided=decided)


async def _run_of(rooms: Rooms, caller: Principal, task_id: UUID) -> Task | None:
    try:
        return await own_run(rooms, caller, task_id)
    except AppError as error:
        if error.code in (ErrorCode.NOT_FOUND, ErrorCode.DATABASE_UNAVAILABLE):
            return None
        raise


async def _decided(rooms: Rooms, caller: Principal, body: RunInput, entry: ResumeEntry) -> Run:
    """Decide what an earlier run stopped at, and go on behind it."""
    task_id, attempt = _interrupt_of(entry)
    task = await own_run(rooms, caller, task_id)
    try:
        said = DecisionBody.model_validate({"approved": False} if entry.status == "cancelled" else entry.payload)
    except ValidationError as invalid:
        raise AppError(ErrorCode.PAYLOAD_INVALID, describe_validation(invalid.errors()), status=422) from None
    decision = Decision(approved=said.approved, feedback=said.feedback.strip(), attempt=attempt)
    await rooms.approvals.decide(caller, task_id, decision)
    asked = [
        one.seq
        for one in await rooms.journal.read(caller, task_id)
        if isinstance(one.event, Interrupt) and one.event.attempt == attempt
    ]
    seen = max(asked, default=0)
    return Run(body.threadId, body.runId, task_id, task.session_id, told=seen, decided=seen)


def _interrupt_of(entry: ResumeEntry) -> tuple[UUID, int]:
    task, _, attempt = entry.interruptId.partition(":")
    try:
        return UUID(task), int(attempt)
    except ValueError:
        raise AppError(ErrorCode.NOT_FOUND, "resume: there is no such interrupt.", status=404) from None


async def _decided_until(rooms: Rooms, caller: Principal, task_id: UUID) -> int:
    """The last plan somebody decided about: something follows it."""
    told = await rooms.journal.read(caller, task_id)
    return max((one.seq for one in told[:-1] if isinstance(one.event, Interrupt)), default=0)
