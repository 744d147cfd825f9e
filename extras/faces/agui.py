"""AG-UI 1.0 at `/ag-ui`: a run of a thread, as a stream of the protocol's events."""

from typing import Annotated, Any
from uuid import UUID

from ag_ui.core import ResumeEntry, RunAgentInput, UserMessage
from ag_ui.core import TextPart as AguiTextPart
from fastapi import APIRouter, Body
from pydantic import Field
from starlette.responses import Response

from app.api.chat import IdempotencyKey
from app.api.deps import AppServices, Caller, Services
from app.api.runs import start_run
from app.api.schemas import DecisionBody, Text
from app.api.sse import EventStream
from app.api.tasks import own_run
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.events import Interrupt
from app.faces.asking import QUESTION_MISSING, Wishes, question_body, validated
from app.faces.face import Face
from app.tasks.approvals import Decision
from extras.faces.agui_events import AguiStream, Run
from extras.faces.following import find_own_run, session_of

router = APIRouter(tags=["ag-ui"])
Name = Annotated[Text, Field(min_length=1, max_length=200)]


class RunInput(RunAgentInput):
    """A run as AG-UI's clients ask for it. State, tools and context they bring have no meaning here."""

    thread_id: Name
    """The conversation: a session's id, or any name of your own."""
    run_id: Name
    """Names the run: the same id again follows the same run from its beginning. A task's id follows that task."""
    resume: list[ResumeEntry] | None = Field(None, max_length=1)
    """The decision about a plan an earlier run stopped at."""


@router.post(
    "/ag-ui",
    summary="Ask, as AG-UI's clients do",
    response_class=EventStream,
    response_model=None,
    responses={200: {"content": {"text/event-stream": {}}, "description": "AG-UI 1.0 events, one a `data:` line"}},
)
async def run_agent(
    sent: Annotated[dict[str, Any], Body(description="AG-UI's `RunAgentInput`")],
    caller: Caller,
    services: Services,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Asks the last message in a thread, follows a run that was asked before, or goes on with one that waited for its
    plan to be approved (`resume`)."""
    body = validated(RunInput, sent)
    if body.resume:
        run = await _decide(services, caller, body, body.resume[0])
    else:
        run = await _follow(services, caller, body) or await _ask(services, caller, body, idempotency_key)
    return AguiStream(run).stream(services, caller, run.task_id)


async def _ask(services: AppServices, caller: Principal, body: RunInput, idempotency_key: str | None) -> Run:
    props = body.forwarded_props
    wishes = validated(Wishes, props if isinstance(props, dict) else {})
    chat = question_body(_question_in(body), session_of(caller, body.thread_id), wishes)
    started = await start_run(services, caller, chat, idempotency_key or f"ag-ui {body.run_id}", opens_session=True)
    decided = await _last_decided(services, caller, started.task_id) if started.is_repeated else 0
    return Run(body.thread_id, body.run_id, started.task_id, started.session_id, decided=decided)


def _question_in(body: RunInput) -> str:
    """The text of the last message. Raises `AppError` (422) for one that is not a user's or brings more than text."""
    last = body.messages[-1] if body.messages else None
    if isinstance(last, UserMessage):
        if isinstance(last.content, str):
            return last.content
        texts = [part.text for part in last.content if isinstance(part, AguiTextPart)]
        if len(texts) == len(last.content):
            return "\n".join(texts)
    raise AppError(ErrorCode.PAYLOAD_INVALID, QUESTION_MISSING, status=422)


async def _follow(services: AppServices, caller: Principal, body: RunInput) -> Run | None:
    """A run that is named by its task."""
    try:
        task = await find_own_run(services, caller, UUID(body.run_id))
    except ValueError:
        return None
    if task is None or task.kind != "chat":
        return None
    decided = await _last_decided(services, caller, task.task_id)
    return Run(body.thread_id, body.run_id, task.task_id, task.session_id, decided=decided)


async def _decide(services: AppServices, caller: Principal, body: RunInput, entry: ResumeEntry) -> Run:
    """Decide what an earlier run stopped at, and go on behind it. Raises `AppError`."""
    name, _, number = entry.interrupt_id.partition(":")
    try:
        task_id, attempt = UUID(name), int(number)
    except ValueError:
        raise AppError(ErrorCode.NOT_FOUND, "resume: there is no such interrupt.", status=404) from None
    task = await own_run(services, caller, task_id)
    said = validated(DecisionBody, {"approved": False} if entry.status == "cancelled" else entry.payload)
    decision = Decision(approved=said.approved, feedback=said.feedback.strip(), attempt=attempt)
    await services.approvals.decide(caller, task_id, decision)
    entries = await services.journal.read(caller, task_id)
    asked = [one.seq for one in entries if isinstance(one.event, Interrupt) and one.event.attempt == attempt]
    seen = max(asked, default=0)
    return Run(body.thread_id, body.run_id, task_id, task.session_id, sent=seen, decided=seen)


async def _last_decided(services: AppServices, caller: Principal, task_id: UUID) -> int:
    """The last plan somebody decided about: something follows it."""
    entries = await services.journal.read(caller, task_id)
    return max((entry.seq for entry in entries[:-1] if isinstance(entry.event, Interrupt)), default=0)


FACE = Face(router, roots=("/ag-ui",))
