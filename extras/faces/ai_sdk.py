"""Vercel's AI SDK at `/ui/chat`: ask in a chat, and come back to the answer that is being written.

A message is a UI message stream, version 1. There is no Python SDK of it, so what little is needed is written here.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import Response

from app import events as journal
from app.api.chat import IdempotencyKey
from app.api.deps import Caller, Services
from app.api.runs import start_run
from app.api.sse import EventStream
from app.faces.asking import (
    OtherPart,
    Received,
    TextPart,
    Wishes,
    question_body,
    question_of,
    validated,
)
from app.faces.face import Face
from app.faces.updates import ANSWER_FIELDS, Answered, Chunk, Failed, Progressed, Update
from extras.faces.following import StepProjection, find_own_run, session_of

router = APIRouter(prefix="/ui/chat", tags=["ai-sdk"])
_STREAM = {"content": {"text/event-stream": {}}, "description": "A UI message stream, version 1"}
_TEXT = {"id": "answer"}


class UIMessage(Received):
    """The last message of a chat."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[TextPart | OtherPart, ...] = Field(max_length=1_000)


class UIChatBody(Wishes):
    """A question in a chat."""

    id: str = Field(min_length=1, max_length=200)
    """The conversation: a session's id, or any name of your own."""
    messages: tuple[dict[str, Any], ...] = Field(min_length=1, max_length=10_000)
    """The last one is the question and must be the user's; the history is kept here."""
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    """Both ask."""


@router.post(
    "",
    summary="Ask, as Vercel's AI SDK does",
    response_class=EventStream,
    response_model=None,
    responses={200: _STREAM},
)
async def ask(body: UIChatBody, caller: Caller, services: Services, idempotency_key: IdempotencyKey = None) -> Response:
    """Asks the last message in a chat and streams the answer as parts of a message."""
    last = validated(UIMessage, body.messages[-1])
    chat = question_body(question_of(last.role, last.parts), session_of(caller, body.id), body)
    run = await start_run(services, caller, chat, idempotency_key, opens_session=True)
    return UIMessageStream(run.task_id, run.session_id).stream(services, caller, run.task_id)


@router.get(
    "/{chat_id}/stream",
    summary="Come back to an answer that is being written",
    response_class=EventStream,
    response_model=None,
    responses={200: _STREAM, 204: {"description": "Nothing is being answered in this chat"}},
)
async def resume(
    chat_id: Annotated[str, Path(min_length=1, max_length=200)], caller: Caller, services: Services
) -> Response:
    """The running answer of a chat, from its beginning."""
    session_id = session_of(caller, chat_id)
    task_id = await services.sessions.running(caller, session_id)
    if task_id is None or await find_own_run(services, caller, task_id) is None:
        return Response(status_code=204)
    return UIMessageStream(task_id, session_id).stream(services, caller, task_id)


class UIMessageStream(StepProjection):
    """One answer as the parts of a message."""

    done = "[DONE]"
    headers = {"x-vercel-ai-ui-message-stream": "v1"}

    def __init__(self, task_id: UUID, session_id: UUID):
        super().__init__()
        self._ids = {"task_id": str(task_id), "session_id": str(session_id)}
        self._is_speaking, self._conflicts = False, 0

    def begin(self) -> Iterator[Chunk]:
        """See `RunProjection.begin`."""
        yield {"type": "start", "messageId": self._ids["task_id"], "messageMetadata": self._ids}

    def write(self, update: Update, seq: int) -> Iterator[Chunk]:
        """See `RunProjection.write`."""
        match update:
            case journal.PlanReady() | Progressed(is_counted=True) if self.run.steps is not None:
                steps = [dict(step) for step in self.run.steps]
                data = {"steps": steps, "progress": self.run.progress, "message": self.run.message}
                yield {"type": "data-plan", "id": "plan", "data": data}
            case journal.StartProcess() | journal.EndProcess() | journal.Redispatched():
                yield {"type": "data-agents", "id": "agents", "data": dict(self.run.agents)}
            case journal.Handover() | journal.Interrupt():
                yield {"type": f"data-{update.type}", "data": update.model_dump(mode="json", exclude={"type"})}
            case journal.ConflictResolved(conflicts=conflicts, policy=policy):
                for conflict in conflicts:
                    self._conflicts += 1
                    data = {"conflict": conflict, "policy": policy}
                    yield {"type": "data-conflict", "id": f"conflict-{self._conflicts}", "data": data}
            case journal.TextDelta(text=text):
                if not self._is_speaking:
                    self._is_speaking = True
                    yield {"type": "text-start", **_TEXT}
                yield {"type": "text-delta", **_TEXT, "delta": text}
            case Answered() | Failed() | journal.TaskCancelled():
                yield from self._end(update)
            case _:
                pass

    def _end(self, update: Answered | Failed | journal.TaskCancelled) -> Iterator[Chunk]:
        """Clients stop reading at an error: what is to be known of it comes before."""
        if self._is_speaking:
            yield {"type": "text-end", **_TEXT}
        match update:
            case Answered(answer=answer, titles=titles):
                for number, source in enumerate(answer["evidence"], 1):
                    url = str(source["url"])
                    title = titles.get(url, url)
                    yield {"type": "source-url", "sourceId": f"source-{number}", "url": url, "title": title}
                metadata = {name: answer[name] for name in ANSWER_FIELDS[1:] if name in answer}
                yield {"type": "finish", "finishReason": "stop", "messageMetadata": {**self._ids, **metadata}}
            case Failed(message=message, code=code):
                metadata = {**self._ids, "outcome": "failed", "error_code": code}
                yield {"type": "message-metadata", "messageMetadata": metadata}
                yield {"type": "error", "errorText": message}
                yield {"type": "finish", "finishReason": "error"}
            case journal.TaskCancelled(reason=reason):
                yield {"type": "message-metadata", "messageMetadata": {**self._ids, "outcome": "cancelled"}}
                yield {"type": "abort", "reason": reason}


FACE = Face(router, roots=("/ui",))
