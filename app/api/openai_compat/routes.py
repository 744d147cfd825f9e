"""`/v1`: who can be asked, and asking."""

import json
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.responses import JSONResponse, Response

from app.api.chat import IdempotencyKey
from app.api.deps import Caller, Rooms, TheRooms
from app.api.openai_compat.housework import housework
from app.api.openai_compat.projection import Chunks, bare, completion, refusal
from app.api.openai_compat.shapes import Completion, CompletionBody, ModelList, ModelView
from app.api.problem import describe_validation
from app.api.projected import Chunk, ProjectedStream, until_lost
from app.api.runs import answer_of, start_run
from app.api.schemas import ChatBody
from app.api.titles import named_for
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode

router = APIRouter(prefix="/v1", tags=["openai"])
AUTO, DEEP = "auto", "deep"
_HISTORY_TURNS = 50
_DONE = "[DONE]"


@router.get("/models", summary="Who can be asked, as models")
async def models(caller: Caller, rooms: TheRooms) -> ModelList:
    """``auto``, every department agent you may use, and ``deep``."""
    return ModelList(data=tuple(_models(caller, rooms)))


@router.get("/models/{model}", summary="One of them")
async def model(model: str, caller: Caller, rooms: TheRooms) -> ModelView:
    """A model by its id; 404 for one you may not use."""
    for offered in _models(caller, rooms):
        if offered.id == model:
            return offered
    raise _unknown_model()


@router.post(
    "/chat/completions",
    summary="Ask, as OpenAI's clients do",
    response_model=Completion,
    responses={200: {"content": {"text/event-stream": {}}, "description": "A completion, or its chunks"}},
)
async def completions(
    body: CompletionBody, caller: Caller, rooms: TheRooms, request: Request, idempotency_key: IdempotencyKey = None
) -> Response:
    """The answer of a run, whole or streamed, with its sources in ``annotations`` and ``references``."""
    if body.model not in {offered.id for offered in _models(caller, rooms)}:
        raise _unknown_model()
    created = int(rooms.now().timestamp())
    prompt = "\n".join(message.text for message in body.messages)
    if (reply := housework(body.messages)) is not None:
        return _without_a_run(body, created, prompt, reply)
    run = await start_run(rooms, caller, asked_by(body), idempotency_key)
    if body.stream:
        include_usage = body.stream_options is not None and body.stream_options.include_usage
        named = named_for(rooms, caller)
        chunks = Chunks(str(run.task_id), body.model, created, prompt, include_usage=include_usage, named=named)
        entries = rooms.journal.follow(run.principal, run.task_id)
        return ProjectedStream(until_lost(chunks.of(entries), entries, _told), done=_DONE)
    answered = await answer_of(rooms, run, request)
    if answered.status_code != 200:
        return _failure(answered)
    answer = json.loads(bytes(answered.body))
    titles = await named_for(rooms, caller)(answer["evidence"])
    whole = completion(body.model, created, prompt, answer, titles)
    return JSONResponse(whole.model_dump(mode="json", exclude_none=False))


def asked_by(body: CompletionBody) -> ChatBody:
    """The question of a request: its last message, which must be the user's, with the turns before it as history."""
    question, said = body.messages[-1], body.messages[:-1]
    if question.role != "user" or question.has_more_than_text:
        what = "be the user's" if question.role != "user" else "hold text only; bring files by POST /api/v1/files"
        raise AppError(ErrorCode.PAYLOAD_INVALID, f"messages: the last one must {what}.", status=422)
    if (body.n or 1) != 1:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "n: there is one answer to a question.", status=422)
    history = [{"role": m.role, "content": m.text} for m in said if m.role in ("user", "assistant") and m.text]
    extra = body.metadata or {}
    asked: dict[str, Any] = {
        "query": question.text,
        "history_chat": history[-_HISTORY_TURNS:],
        "mode": {AUTO: "auto", DEEP: "deep"}.get(body.model, "department"),
    }
    if body.model not in (AUTO, DEEP):
        asked["agents"] = {body.model: {}}
    asked |= {name: extra[name] for name in ("session_id", "as_of") if name in extra}
    try:
        return ChatBody.model_validate(asked)
    except ValidationError as invalid:
        raise AppError(ErrorCode.PAYLOAD_INVALID, describe_validation(invalid.errors()), status=422) from None


def _models(caller: Principal, rooms: Rooms) -> list[ModelView]:
    offers = [offer for offer in rooms.agents.offers_for(caller, None) if offer.departments]
    named = [ModelView(id=offer.name, description=offer.description) for offer in offers]
    return [
        ModelView(id=AUTO, description="Finds out which departments can answer."),
        *named,
        ModelView(id=DEEP, description="Several dependent steps: plan, research, expert, critic."),
    ]


def _without_a_run(body: CompletionBody, created: int, prompt: str, reply: str) -> Response:
    number = uuid4().hex
    if not body.stream:
        return JSONResponse(bare(body.model, created, number, prompt, reply).model_dump(mode="json"))
    include_usage = body.stream_options is not None and body.stream_options.include_usage
    chunks = Chunks(number, body.model, created, prompt, include_usage=include_usage)

    async def told() -> AsyncGenerator[dict[str, Any], None]:
        for chunk in chunks.whole(reply):
            yield chunk

    return ProjectedStream(told(), done=_DONE)


def _told(error: AppError) -> tuple[Chunk]:
    return (refusal(error.detail, error.code.value),)


def _failure(answered: Response) -> Response:
    """A run that did not end well, as an error."""
    told = json.loads(bytes(answered.body) or b"{}")
    message = str(told.get("error_message") or told.get("detail") or "The run did not end.")
    code = str(told.get("error_code") or told.get("code") or ErrorCode.INTERNAL.value)
    headers = {name: answered.headers[name] for name in ("retry-after",) if name in answered.headers}
    return JSONResponse(refusal(message, code), status_code=answered.status_code, headers=headers)


def _unknown_model() -> AppError:
    return AppError(ErrorCode.NOT_FOUND, "model: there is none of this name for you; see GET /v1/models.", status=404)
