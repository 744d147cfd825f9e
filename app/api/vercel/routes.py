"""`/ui/chat`: asking in a chat, and coming back to the answer that is being written."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import ValidationError
from starlette.responses import Response

from app.api.chat import IdempotencyKey
from app.api.deps import Caller, Rooms, TheRooms
from app.api.problem import describe_validation
from app.api.projected import Chunk, ProjectedStream, until_lost
from app.api.runs import start_run
from app.api.sse import EventStream
from app.api.tasks import own_run
from app.api.threads import question_body, session_of
from app.api.titles import named_for
from app.api.vercel.projection import Parts, refusal
from app.api.vercel.shapes import UIChatBody, UIMessage
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode

router = APIRouter(prefix="/ui/chat", tags=["ai-sdk"])
_DONE = "[DONE]"
_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
_STREAM = {"content": {"text/event-stream": {}}, "description": "A UI message stream, version 1"}


@router.post(
    "",
    summary="Ask, as Vercel's AI SDK does",
    response_class=EventStream,
    response_model=None,
    responses={200: _STREAM},
)
async def ask(body: UIChatBody, caller: Caller, rooms: TheRooms, idempotency_key: IdempotencyKey = None) -> Response:
    """Asks the last message in a chat and streams the answer as parts of a message."""
    try:
        question = UIMessage.model_validate(body.messages[-1]).question
    except ValidationError as invalid:
        raise AppError(ErrorCode.PAYLOAD_INVALID, describe_validation(invalid.errors()), status=422) from None
    if question is None:
        detail = "messages: the last one must be the user's and hold text only; bring files by POST /api/v1/files."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
    chat = question_body(question, session_of(caller, body.id), body)
    run = await start_run(rooms, caller, chat, idempotency_key, opens_session=True)
    return _streamed(rooms, caller, run.task_id, run.session_id)


@router.get(
    "/{chat_id}/stream",
    summary="Come back to an answer that is being written",
    response_class=EventStream,
    response_model=None,
    responses={200: _STREAM, 204: {"description": "Nothing is being answered in this chat"}},
)
async def resume(
    chat_id: Annotated[str, Path(min_length=1, max_length=200)], caller: Caller, rooms: TheRooms
) -> Response:
    """The running answer of a chat, from its beginning."""
    session_id = session_of(caller, chat_id)
    task_id = await rooms.sessions.running(caller, session_id)
    if task_id is None or not await _may_see(rooms, caller, task_id):
        return Response(status_code=204)
    return _streamed(rooms, caller, task_id, session_id)


async def _may_see(rooms: Rooms, caller: Principal, task_id: UUID) -> bool:
    try:
        await own_run(rooms, caller, task_id)
    except AppError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return False
        raise
    return True


def _streamed(rooms: Rooms, caller: Principal, task_id: UUID, session_id: UUID) -> Response:
    entries = rooms.journal.follow(caller, task_id)
    chunks = until_lost(Parts(task_id, session_id, named_for(rooms, caller)).of(entries), entries, _told)
    return ProjectedStream(chunks, done=_DONE, headers=_HEADERS)


def _told(error: AppError) -> tuple[Chunk]:
    return (refusal(error.detail),)
