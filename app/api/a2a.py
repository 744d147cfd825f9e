"""The service as other agents see it (A2A): a card at `/.well-known/agent-card.json`, and JSON-RPC at `/a2a`.

Two versions are understood: 1.0 (``SendMessage``, ``GetTask``) and 0.3 (``message/send``, ``tasks/get``).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import Field, ValidationError
from starlette.responses import JSONResponse

from app import __version__
from app.api.deps import Caller, Rooms, TheRooms
from app.api.openai_compat.shapes import Received
from app.api.problem import describe_validation
from app.api.runs import answer_of, start_run
from app.api.schemas import ChatBody, Text
from app.api.seed_order import in_seed_order
from app.api.tasks import own_run
from app.api.threads import Wishes, question_body, session_of
from app.domain.principal import Principal
from app.domain.tasks import TaskStatus
from app.errors import AppError, ErrorCode

router = APIRouter(tags=["a2a"])
PATH, CARD_PATH = "/a2a", "/.well-known/agent-card.json"
_DESCRIPTION = "Answers employees' questions from the company's documents that the asker may read, with its sources."
_NO_METHOD, _BAD_PARAMS, _INTERNAL, _NO_TASK = -32601, -32602, -32603, -32001
_TOLD = ("outcome", "confidence_score", "evidence", "reasoning", "follow_up_questions")
_STATES = {
    TaskStatus.PENDING: "submitted", TaskStatus.IN_PROGRESS: "working", TaskStatus.COMPLETED: "completed",
    TaskStatus.FAILED: "failed", TaskStatus.CANCELLED: "canceled",
}  # fmt: skip


class Call(Received):
    """A JSON-RPC call."""

    jsonrpc: Literal["2.0"]
    id: str | int | None = None
    method: str = Field(max_length=64)
    params: dict[str, Any] = Field(default_factory=dict)


class Part(Received):
    """A piece of a message; `kind` is how version 0.3 names what it holds."""

    kind: str = Field("text", max_length=16)
    text: Text | None = None


class Message(Received):
    """What another agent says."""

    messageId: str = Field(min_length=1, max_length=200)
    """The same message again never starts a second run."""
    contextId: str | None = Field(None, max_length=200)
    """The conversation: of an earlier task, or any name of your own."""
    role: str = Field("user", max_length=16)
    parts: tuple[Part, ...] = Field(min_length=1, max_length=100)


class Configuration(Received):
    """How it wants its answer; each version has its own name for the same."""

    returnImmediately: bool = False
    blocking: bool = True

    @property
    def waits(self) -> bool:
        """Whether the call ends with the run."""
        return self.blocking and not self.returnImmediately


class Sending(Received):
    """A message that is sent. ``metadata`` may hold ``mode``, ``agent`` and ``as_of``."""

    message: Message
    configuration: Configuration = Configuration()
    metadata: Wishes = Wishes()


class Named(Received):
    """A task."""

    id: UUID


class RpcResult(Received):
    """An answer to a call."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str | int | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Told:
    """A task, before it is spelt for a version."""

    task_id: UUID
    session_id: UUID
    state: str
    answer: Mapping[str, Any]


@router.get(CARD_PATH, summary="What this agent is, for other agents")
async def card(request: Request) -> dict[str, Any]:
    """Says how to ask, and nothing of who uses the service or what it knows."""
    url = str(request.base_url).rstrip("/") + PATH
    skill = {
        "id": "ask", "name": "Ask", "description": _DESCRIPTION, "tags": ["documents", "policies", "vi", "en"],
        "examples": ["Đi muộn bị xử lý thế nào?", "How long must a password be?"],
    }  # fmt: skip
    return {
        "name": "Conclave", "description": _DESCRIPTION, "version": __version__,
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version} for version in ("1.0", "0.3")
        ],
        "capabilities": {"streaming": False, "pushNotifications": False},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [skill],
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
    }  # fmt: skip


@router.post(PATH, summary="Ask, as other agents do", response_model=RpcResult)
async def rpc(call: Call, caller: Caller, rooms: TheRooms, request: Request) -> JSONResponse:
    """``SendMessage`` asks and answers with the task and its answer; ``GetTask`` looks at one. Refusals are JSON-RPC
    errors with our code in ``data``."""
    is_old = "/" in call.method
    try:
        match call.method:
            case "SendMessage" | "message/send":
                told = await _send(rooms, caller, Sending.model_validate(call.params), request)
                task = _spelt(told, is_old=is_old)
                return _answer(call, task if is_old else {"task": task})
            case "GetTask" | "tasks/get":
                return _answer(
                    call, _spelt(await _get(rooms, caller, Named.model_validate(call.params)), is_old=is_old)
                )
            case _:
                return _refusal(call, _NO_METHOD, "There is no such method; see the agent's card.")
    except ValidationError as invalid:
        return _refusal(call, _BAD_PARAMS, describe_validation(invalid.errors()), ErrorCode.PAYLOAD_INVALID)
    except AppError as error:
        return _refusal(call, _NUMBERS.get(error.code, _INTERNAL), error.detail, error.code)


async def _send(rooms: Rooms, caller: Principal, sending: Sending, request: Request) -> _Told:
    run = await start_run(
        rooms, caller, _question(caller, sending), f"a2a {sending.message.messageId}", opens_session=True
    )
    if not sending.configuration.waits:
        return await _get(rooms, caller, Named(id=run.task_id))
    answered = await answer_of(rooms, run, request)
    answer = json.loads(bytes(answered.body) or b"{}")
    if answered.status_code == 200:
        return _Told(run.task_id, run.session_id, "completed", answer)
    state = "canceled" if answer.get("error_code") == ErrorCode.TASK_CANCELLED.value else "failed"
    return _Told(run.task_id, run.session_id, state, answer)


def _question(caller: Principal, sending: Sending) -> ChatBody:
    message = sending.message
    if message.role not in ("user", "ROLE_USER") or any(part.text is None for part in message.parts):
        detail = "message: must be of the role user and hold text only; bring files by POST /api/v1/files."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
    question = "\n".join(part.text or "" for part in message.parts)
    wishes = sending.metadata.model_copy(update={"approve_plan": False})
    return question_body(question, session_of(caller, message.contextId) if message.contextId else None, wishes)


async def _get(rooms: Rooms, caller: Principal, named: Named) -> _Told:
    task = await own_run(rooms, caller, named.id)
    if task.kind != "chat":
        raise AppError(ErrorCode.NOT_FOUND, "There is no such task.", status=404)
    return _Told(task.task_id, task.session_id, _STATES[task.status], in_seed_order(task.result or {}))


def _spelt(told: _Told, *, is_old: bool) -> dict[str, Any]:
    """A task as its version writes it."""
    status: dict[str, Any] = {"state": told.state if is_old else f"TASK_STATE_{told.state.upper()}"}
    task: dict[str, Any] = {"id": str(told.task_id), "contextId": str(told.session_id), "status": status}
    if told.state == "completed":
        data = {name: told.answer[name] for name in _TOLD if name in told.answer}
        parts = [_part("text", str(told.answer["answer"]), is_old), _part("data", data, is_old)]
        task["artifacts"] = [{"artifactId": "answer", "name": "answer", "parts": parts}]
    elif told.state in ("failed", "canceled"):
        said = str(told.answer.get("error_message") or told.answer.get("detail") or "The run did not end.")
        status["message"] = {
            "messageId": f"{told.task_id}:status", "role": "agent" if is_old else "ROLE_AGENT",
            "parts": [_part("text", said, is_old)],
            "metadata": {"error_code": str(told.answer.get("error_code") or told.answer.get("code") or "")},
        } | ({"kind": "message"} if is_old else {})  # fmt: skip
    return {**task, "kind": "task"} if is_old else task


def _part(kind: str, value: Any, is_old: bool) -> dict[str, Any]:
    return {"kind": kind, kind: value} if is_old else {kind: value}


_NUMBERS = {ErrorCode.PAYLOAD_INVALID: _BAD_PARAMS, ErrorCode.NOT_FOUND: _NO_TASK}


def _answer(call: Call, result: Mapping[str, Any]) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": call.id, "result": result})


def _refusal(call: Call, number: int, message: str, code: ErrorCode = ErrorCode.NOT_FOUND) -> JSONResponse:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": code.value, "domain": "conclave"}
    return JSONResponse(
        {"jsonrpc": "2.0", "id": call.id, "error": {"code": number, "message": message, "data": [info]}}
    )
