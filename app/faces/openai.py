"""OpenAI's API at `/v1`: who can be asked, as models, and asking them.

A completion is the answer of a run, whole or in chunks as it is written, with its sources in ``annotations`` and
``references``. What a client sends beyond what is named here (``temperature``, ``tools`` …) is ignored; images it
sends along are told as left out.
"""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Request
from pydantic import ConfigDict, Field
from starlette.responses import JSONResponse, Response

from app.api.chat import IdempotencyKey
from app.api.deps import AppServices, Caller, Services
from app.api.runs import start_run, wait_for_end
from app.api.schemas import ChatBody, Text
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.events import TaskCancelled, TextDelta
from app.faces.asking import OtherPart, Received, TextPart, question_of, text_of, validated
from app.faces.frontend_requests import answer_frontend_request
from app.faces.openai_limits import Format, Wished, Written, note_of_parts
from app.faces.quoted import Quotes, quotes_of, spans_of
from app.faces.updates import Answered, Chunk, Failed, RunProjection, Update, titles_of, tokens_of
from app.text.language import estimated_tokens

router = APIRouter(prefix="/v1", tags=["openai"])
AUTO, DEEP = "auto", "deep"
_HISTORY_TURNS = 50
_MARK = re.compile(r"\[(\d{1,3})\]")
_RUN_FIELDS = ("task_id", "session_id", "outcome", "confidence_score", "reasoning", "follow_up_questions")
_ERROR_TYPES = {
    401: "authentication_error", 403: "permission_error", 409: "conflict_error", 429: "rate_limit_error",
}  # fmt: skip


class ChatMessage(Received):
    """One message, oldest first."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | tuple[TextPart | OtherPart, ...] | None = None

    @property
    def text(self) -> str:
        """Its text alone."""
        return self.content if isinstance(self.content, str) else text_of(self.content or ())

    @property
    def note(self) -> str:
        """What is to be said of the parts that cannot be read; empty where there are none."""
        return "" if isinstance(self.content, str) else note_of_parts(self.content or (), self.text)


class StreamOptions(Received):
    """How a stream ends."""

    include_usage: bool = False


class CompletionBody(Wished):
    """A request for a completion."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": "auto", "messages": [{"role": "user", "content": "công ty cho nghỉ phép bao nhiêu ngày?"}]}
            ]
        }
    )

    model: str = Field("auto", min_length=1, max_length=200)
    """``auto``, a department agent, or ``deep``; `GET /v1/models` lists them."""
    messages: tuple[ChatMessage, ...] = Field(min_length=1, max_length=200)
    """The last one of the user is the question, what stands before it the history. System messages do not change how
    questions are answered: that is up to the operator and the agents."""
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, ge=1)
    response_format: Format | None = None
    max_tokens: int | None = Field(None, ge=1)
    """The answer is cut there, by our estimate of tokens; ``finish_reason`` is ``length`` then."""
    max_completion_tokens: int | None = Field(None, ge=1)
    metadata: dict[str, str] | None = Field(None, max_length=16)
    """``session_id`` names one of your conversations, ``as_of`` a day (ISO) by whose rules is answered."""


@router.get("/models", summary="Who can be asked, as models")
async def models(caller: Caller, services: Services) -> dict[str, Any]:
    """``auto``, every department agent you may use, and ``deep``."""
    return {"object": "list", "data": offered_models(caller, services)}


@router.get("/models/{model}", summary="One of them")
async def model(model: str, caller: Caller, services: Services) -> dict[str, Any]:
    """A model by its id; 404 for one you may not use."""
    for offered in offered_models(caller, services):
        if offered["id"] == model:
            return offered
    raise unknown_model()


@router.post(
    "/chat/completions",
    summary="Ask, as OpenAI's clients do",
    response_model=None,
    responses={200: {"content": {"text/event-stream": {}}, "description": "A completion, or its chunks"}},
)
async def completions(
    body: CompletionBody, caller: Caller, services: Services, request: Request, idempotency_key: IdempotencyKey = None
) -> Response:
    """The answer of a run, whole or streamed, with its sources in ``annotations`` and ``references``."""
    if body.model not in {offered["id"] for offered in offered_models(caller, services)}:
        raise unknown_model()
    created = int(services.now().timestamp())
    if (reply := answer_frontend_request(body.messages[-1].role, body.messages[-1].text)) is not None:
        completion = CompletionStream(body, uuid4().hex, created)
        if body.stream:
            return completion.stream_of(completion.chunks_of_text(reply))
        return JSONResponse(completion.whole(reply, {}, {}))
    run = await start_run(services, caller, question_in(body), idempotency_key)
    completion = CompletionStream(body, str(run.task_id), created)
    if body.stream:
        return completion.stream(services, run.principal, run.task_id)
    status, answer = await wait_for_end(services, run, request)
    if status != 200:
        return JSONResponse(error_of_run(answer), status_code=status)
    titles = await titles_of(services, caller, answer["evidence"])
    return JSONResponse(completion.whole(str(answer["answer"]), answer, titles, await quotes_of(services, run)))


def question_in(body: CompletionBody) -> ChatBody:
    """The question of a request: its last message, which must be the user's, with the turns before it as history.

    Raises `AppError` (422).
    """
    last, earlier = body.messages[-1], body.messages[:-1]
    body.check(body.response_format)
    question = question_of(last.role, last.text if last.text.strip() else last.content)
    if (body.n or 1) != 1:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "n: there is one answer to a question.", status=422)
    history = [{"role": m.role, "content": m.text} for m in earlier if m.role in ("user", "assistant") and m.text]
    fields: dict[str, Any] = {
        "query": question,
        "history_chat": history[-_HISTORY_TURNS:],
        "mode": {AUTO: "auto", DEEP: "deep"}.get(body.model, "department"),
    }
    if body.model not in (AUTO, DEEP):
        fields["agents"] = {body.model: {}}
    extra = body.metadata or {}
    return validated(ChatBody, fields | {name: extra[name] for name in ("session_id", "as_of") if name in extra})


def offered_models(caller: Principal, services: AppServices) -> list[dict[str, Any]]:
    """``auto``, the department agents the caller may use, and ``deep``, as models."""
    offers = [offer for offer in services.agents.offers_for(caller, None) if offer.departments]
    offered = [
        (AUTO, "Finds out which departments can answer."),
        *((offer.name, offer.description) for offer in offers),
        (DEEP, "Several dependent steps: plan, research, expert, critic."),
    ]
    return [
        {"id": name, "object": "model", "created": 0, "owned_by": "conclave", "description": description}
        for name, description in offered
    ]


def unknown_model() -> AppError:
    """The refusal of a model the caller may not use."""
    return AppError(ErrorCode.NOT_FOUND, "model: there is none of this name for you; see GET /v1/models.", status=404)


def write_error(message: str, code: str, status: int) -> dict[str, Any]:
    """An error as OpenAI's clients read it, in a stream or as a body."""
    kind = _ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_of_run(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The error a run without an answer ended with."""
    message = str(answer.get("error_message") or answer.get("detail") or "The run did not end.")
    return write_error(message, str(answer.get("error_code") or answer.get("code") or ErrorCode.INTERNAL.value), 500)


class CompletionStream(RunProjection):
    """One completion, whole or in chunks."""

    done = "[DONE]"

    def __init__(self, body: CompletionBody, number: str, created: int):
        super().__init__()
        self._id, self._created, self._model = f"chatcmpl-{number}", created, body.model
        self._prompt = "\n".join(message.text for message in body.messages)
        self._include_usage = body.stream_options is not None and body.stream_options.include_usage
        self._said = Written(body.max_completion_tokens or body.max_tokens, body.messages[-1].note)

    def whole(
        self, text: str, answer: Mapping[str, Any], titles: Mapping[str, str], quotes: Quotes | None = None
    ) -> dict[str, Any]:
        """The completion of an answer (§5); of a text no run was made for `answer` is empty."""
        text = self._said.add(text) + self._said.end()
        message = {"role": "assistant", "content": text, "refusal": None, **sources_of(text, answer, titles, quotes)}
        choice = {"index": 0, "message": message, "finish_reason": self._reason, "logprobs": None}
        return {
            "id": self._id, "object": "chat.completion", "created": self._created, "model": self._model,
            "choices": [choice], "usage": count_tokens(self._prompt, text, answer), "conclave": run_of(answer),
        }  # fmt: skip

    @property
    def _reason(self) -> str:
        return "length" if self._said.is_cut else "stop"

    def begin(self) -> Iterator[Chunk]:
        """See `RunProjection.begin`."""
        yield self._chunk({"role": "assistant", "content": ""})

    def write(self, update: Update, seq: int) -> Iterator[Chunk]:
        """See `RunProjection.write`."""
        match update:
            case TextDelta(text=text):
                if piece := self._said.add(text):
                    yield self._chunk({"content": piece})
            case Answered(answer=answer, titles=titles):
                yield from self._end(answer, titles)
            case Failed(message=message, code=code):
                yield write_error(message, code, 500)
            case TaskCancelled(reason=reason):
                yield write_error(f"The task was stopped: {reason}", ErrorCode.TASK_CANCELLED.value, 500)
            case _:
                pass

    async def chunks_of_text(self, text: str) -> AsyncGenerator[Chunk, None]:
        """A text no run was made for."""
        for chunk in (*self.begin(), *self.write(TextDelta(text=text), 0), *self._end({}, {})):
            yield chunk

    def _end(self, answer: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[Chunk]:
        if note := self._said.end():
            yield self._chunk({"content": note})
        delta = sources_of(self._said.text, answer, titles, self.run.quotes) if answer else {}
        yield {**self._chunk(delta, self._reason), **({"conclave": run_of(answer)} if answer else {})}
        if self._include_usage:
            yield {**self._chunk({}), "choices": [], "usage": count_tokens(self._prompt, self._said.text, answer)}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> Chunk:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {
            "id": self._id, "object": "chat.completion.chunk", "created": self._created, "model": self._model,
            "choices": [choice], **({"usage": None} if self._include_usage else {}),
        }  # fmt: skip


def sources_of(
    text: str, answer: Mapping[str, Any], titles: Mapping[str, str], quotes: Quotes | None = None
) -> dict[str, Any]:
    """The sources of an answer (§5) for a message: ``annotations`` as clients know them, ``references`` as ours.

    There is a citation for each place where the text names a source, ``[1]`` the first; where it names none, for what
    it took from each by the `quotes` of the run. Sources of which neither is known stand at its end.
    """
    evidence: Sequence[Mapping[str, Any]] = answer.get("evidence", ())
    marks: dict[int, list[tuple[int, int]]] = {}
    for mark in _MARK.finditer(text):
        marks.setdefault(int(mark[1]), []).append(mark.span())
    marks = marks or spans_of(text, evidence, quotes or {})
    annotations: list[dict[str, Any]] = []
    for number, source in enumerate(evidence, 1):
        url = str(source["url"])
        for start, end in marks.get(number, [(len(text), len(text))]):
            cited = {"url": url, "title": titles.get(url, url), "start_index": start, "end_index": end}
            annotations.append({"type": "url_citation", "url_citation": cited})
    return {"annotations": annotations, "references": list(evidence)}


def run_of(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the native API knows of the run behind a completion; None where no run was made."""
    return {name: answer[name] for name in _RUN_FIELDS if name in answer} or None


def count_tokens(prompt: str, text: str, answer: Mapping[str, Any]) -> dict[str, int]:
    """What models read and wrote in this run; of an answer without a model an estimate from the texts."""
    read, written = tokens_of(answer) or (estimated_tokens(prompt), estimated_tokens(text))
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
