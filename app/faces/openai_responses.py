"""OpenAI's responses at `/v1/responses`: the same questions and runs as completions, in the newer form."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import ConfigDict, Field
from sse_starlette import ServerSentEvent
from starlette.responses import JSONResponse, Response

from app.api.chat import IdempotencyKey
from app.api.deps import AppServices, Caller, Services
from app.api.runs import start_run, wait_for_end
from app.api.schemas import Text
from app.api.sse import TimedStream
from app.api.tasks import own_run
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.events import TaskCancelled, TextDelta
from app.faces import openai, openai_embeddings
from app.faces.asking import Received, validated
from app.faces.face import Face
from app.faces.openai import CompletionBody, count_tokens, error_of_run, question_in, run_of, sources_of
from app.faces.openai_limits import Format, Wished, Written
from app.faces.quoted import Quotes, quotes_of
from app.faces.updates import Answered, Chunk, Failed, RunProjection, Update, titles_of

router = APIRouter(prefix="/v1", tags=["openai"])
_TEXT_PARTS = ("input_text", "output_text", "text")


class InputPart(Received):
    """A piece of a message."""

    type: str = Field(max_length=64)
    text: Text | None = None


class InputItem(Received):
    """A message, oldest first; items of other types are ignored."""

    type: str = Field("message", max_length=64)
    role: Text | None = Field(None, max_length=64)
    content: Text | tuple[InputPart, ...] | None = None


class TextOptions(Received):
    """The form of the text."""

    format: Format | None = None


class ResponseBody(Wished):
    """A request for a response."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "auto", "input": "công ty cho nghỉ phép bao nhiêu ngày?"}]}
    )

    model: str = Field("auto", min_length=1, max_length=200)
    input: Text | tuple[InputItem, ...] = Field(min_length=1, max_length=600_000)
    """The question, or messages of which the last one is the user's and the question."""
    instructions: Text | None = None
    """Does not change how questions are answered, as system messages do not."""
    previous_response_id: Text | None = Field(None, max_length=64)
    """Goes on with the conversation of a response of your own."""
    stream: bool = False
    store: bool = True
    """Told back. A question is kept as every conversation is, until it is erased."""
    text: TextOptions | None = None
    max_output_tokens: int | None = Field(None, ge=1)
    """The answer is cut there, by our estimate; its ``status`` is ``incomplete`` then."""
    metadata: dict[str, str] | None = Field(None, max_length=16)
    """``session_id`` and ``as_of``, as with completions."""

    def as_completion(self) -> CompletionBody:
        """The same question as a completion asks it. Raises `AppError` (422)."""
        items = self.input
        messages = [{"role": "user", "content": items}] if isinstance(items, str) else [
            {"role": item.role, "content": item.content if not isinstance(item.content, tuple) else [
                {"type": "text", "text": part.text} if part.type in _TEXT_PARTS else {"type": part.type}
                for part in item.content
            ]}
            for item in items if item.type == "message"
        ]  # fmt: skip
        return validated(CompletionBody, {
            "model": self.model, "messages": messages, "metadata": self.metadata, "tool_choice": self.tool_choice,
            "response_format": None if self.text is None else self.text.format,
        })  # fmt: skip


@router.post(
    "/responses",
    summary="Ask, as OpenAI's newer clients do",
    response_model=None,
    responses={200: {"content": {"text/event-stream": {}}, "description": "A response, or its events"}},
)
async def responses(
    body: ResponseBody, caller: Caller, services: Services, request: Request, idempotency_key: IdempotencyKey = None
) -> Response:
    """The answer of a run, whole or streamed, with its sources as ``annotations`` of its text."""
    if body.model not in {offered["id"] for offered in openai.offered_models(caller, services)}:
        raise openai.unknown_model()
    asked = body.as_completion()
    question = question_in(asked)
    if body.previous_response_id is not None:
        session_id = await _session_of(services, caller, body.previous_response_id)
        question = question.model_copy(update={"session_id": session_id})
    run = await start_run(services, caller, question, idempotency_key)
    told = ResponseStream(body, asked, run.task_id, int(services.now().timestamp()))
    if body.stream:
        return told.stream(services, run.principal, run.task_id)
    status, answer = await wait_for_end(services, run, request)
    if status != 200:
        return JSONResponse(error_of_run(answer), status_code=status)
    return JSONResponse(
        told.whole(answer, await titles_of(services, caller, answer["evidence"]), await quotes_of(services, run))
    )


async def _session_of(services: AppServices, caller: Principal, name: str) -> UUID:
    """The conversation a response of the caller stands in. Raises `AppError` (404) for every other name."""
    missing = AppError(ErrorCode.NOT_FOUND, "previous_response_id: there is no such response.", status=404)
    try:
        run = await own_run(services, caller, UUID(name.removeprefix("resp_")))
    except ValueError:
        raise missing from None
    except AppError as refused:
        raise missing if refused.code is ErrorCode.NOT_FOUND else refused from None
    if run.kind != "chat" or run.parent_task_id is not None:
        raise missing
    return run.session_id


class ResponseStream(RunProjection):
    """One response, whole or as the events that make it."""

    def __init__(self, body: ResponseBody, asked: CompletionBody, task_id: UUID, created: int):
        super().__init__()
        self._body, self._created, self._seq = body, created, 0
        self._id, self._message_id = f"resp_{task_id.hex}", f"msg_{task_id.hex}"
        self._prompt = "\n".join(message.text for message in asked.messages)
        self._said = Written(body.max_output_tokens, asked.messages[-1].note)
        self._place = {"item_id": self._message_id, "output_index": 0, "content_index": 0}

    def whole(self, answer: Mapping[str, Any], titles: Mapping[str, str], quotes: Quotes) -> dict[str, Any]:
        """The response of an answer (§5)."""
        self.run.quotes = quotes
        self._said.add(str(answer["answer"]))
        self._said.end()
        return self._ended(answer, self._part(answer, titles))

    def begin(self) -> Iterator[Chunk]:
        """See `RunProjection.begin`."""
        for name in ("created", "in_progress"):
            yield self._event(f"response.{name}", response=self._response("in_progress"))
        yield self._event("response.output_item.added", output_index=0, item=self._message("in_progress"))
        yield self._event("response.content_part.added", **self._place, part=self._part({}, {}))

    def write(self, update: Update, seq: int) -> Iterator[Chunk]:
        """See `RunProjection.write`."""
        match update:
            case TextDelta(text=text):
                yield from self._delta(self._said.add(text))
            case Answered(answer=answer, titles=titles):
                yield from self._delta(self._said.end())
                yield from self._end(answer, titles)
            case Failed(message=message, code=code):
                yield self._failed(message, code.value)
            case TaskCancelled(reason=reason):
                yield self._failed(f"The task was stopped: {reason}", ErrorCode.TASK_CANCELLED.value)
            case _:
                pass

    def stream_of(self, chunks: AsyncGenerator[Chunk, None]) -> TimedStream:
        """See `RunProjection.stream_of`; each event is named by its type."""
        return TimedStream(_named(chunks), headers=self.headers)

    def _delta(self, piece: str) -> Iterator[Chunk]:
        if piece:
            yield self._event("response.output_text.delta", **self._place, delta=piece, logprobs=[])

    def _end(self, answer: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[Chunk]:
        part = self._part(answer, titles)
        for index, one in enumerate(part["annotations"]):
            added = {"annotation_index": index, "annotation": one}
            yield self._event("response.output_text.annotation.added", **self._place, **added)
        yield self._event("response.output_text.done", **self._place, text=self._said.text, logprobs=[])
        yield self._event("response.content_part.done", **self._place, part=part)
        response = self._ended(answer, part)
        yield self._event("response.output_item.done", output_index=0, item=response["output"][0])
        yield self._event(f"response.{response['status']}", response=response)

    def _failed(self, message: str, code: str) -> Chunk:
        response = self._response("failed") | {"error": {"code": code, "message": message}}
        return self._event("response.failed", response=response)

    def _event(self, name: str, **fields: Any) -> Chunk:
        self._seq += 1
        return {"type": name, "sequence_number": self._seq - 1, **fields}

    def _part(self, answer: Mapping[str, Any], titles: Mapping[str, str]) -> dict[str, Any]:
        cited = sources_of(self._said.text, answer, titles, self.run.quotes)["annotations"]
        annotations = [{"type": one["type"], **one["url_citation"]} for one in cited]
        return {"type": "output_text", "text": self._said.text, "annotations": annotations, "logprobs": []}

    def _message(self, status: str, *content: dict[str, Any]) -> dict[str, Any]:
        fields = {"id": self._message_id, "type": "message", "role": "assistant"}
        return {**fields, "status": status, "content": list(content)}

    def _ended(self, answer: Mapping[str, Any], part: dict[str, Any]) -> dict[str, Any]:
        status: Literal["completed", "incomplete"] = "incomplete" if self._said.is_cut else "completed"
        used = count_tokens(self._prompt, self._said.text, answer)
        usage = {
            "input_tokens": used["prompt_tokens"], "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": used["completion_tokens"], "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used["total_tokens"],
        }  # fmt: skip
        cut = {"incomplete_details": {"reason": "max_output_tokens"}} if self._said.is_cut else {}
        told = {"references": list(answer["evidence"]), "conclave": run_of(answer)}
        return self._response(status) | {"output": [self._message(status, part)], "usage": usage} | cut | told

    def _response(self, status: str) -> dict[str, Any]:
        body = self._body
        return {
            "id": self._id, "object": "response", "created_at": self._created, "status": status, "model": body.model,
            "output": [], "error": None, "incomplete_details": None, "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens, "metadata": body.metadata or {}, "parallel_tool_calls": False,
            "previous_response_id": body.previous_response_id, "store": body.store, "temperature": None,
            "text": {"format": {"type": "text"}}, "tool_choice": "none", "tools": [], "top_p": None, "usage": None,
        }  # fmt: skip


async def _named(chunks: AsyncGenerator[Chunk, None]) -> AsyncGenerator[ServerSentEvent, None]:
    async with aclosing(chunks):
        async for chunk in chunks:
            yield ServerSentEvent(json.dumps(chunk, ensure_ascii=False), event=chunk["type"], sep="\n")


FACE = Face(
    APIRouter(routes=[route for one in (openai.router, openai_embeddings.router, router) for route in one.routes]),
    roots=("/v1",),
    write_refusal=openai.write_error,
)
"""Everything below `/v1`."""
