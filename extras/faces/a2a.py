"""The service as other agents see it (A2A): a card at `/.well-known/agent-card.json`, and JSON-RPC at `/a2a`.

Versions 1.0 (``SendMessage``, ``GetTask``) and 0.3 (``message/send``, ``tasks/get``) are understood, in the types of
A2A's own SDK, which also translates between the two.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar
from uuid import UUID

from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3 import types as types_v03
from a2a.types import AgentCard, Artifact, GetTaskRequest, Message, Part, Role, SendMessageRequest, TaskState
from a2a.types import Task as A2ATask
from fastapi import APIRouter, Request
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Value
from pydantic import Field, ValidationError
from starlette.responses import JSONResponse

from app import __version__
from app.api.deps import AppServices, Caller, Services
from app.api.runs import start_run, wait_for_end
from app.api.schemas import ChatBody, Label, Text
from app.api.tasks import own_run
from app.domain.answer import in_seed_order
from app.domain.principal import Principal
from app.domain.tasks import TaskStatus
from app.errors import AppError, ErrorCode, describe_validation
from app.faces.asking import QUESTION_MISSING, Received, Wishes, question_body, validated
from app.faces.face import Face
from extras.faces.following import session_of

MessageT = TypeVar("MessageT", SendMessageRequest, GetTaskRequest)
router = APIRouter(tags=["a2a"])
PATH, CARD_PATH = "/a2a", "/.well-known/agent-card.json"
_DESCRIPTION = "Answers employees' questions from the company's documents that the asker may read, with its sources."
_NO_METHOD, _BAD_PARAMS, _INTERNAL = -32601, -32602, -32603
_NUMBERS = {ErrorCode.PAYLOAD_INVALID: _BAD_PARAMS, ErrorCode.NOT_FOUND: -32001}
_ANSWER_DATA = ("outcome", "confidence_score", "evidence", "reasoning", "follow_up_questions")
_STATES = {
    TaskStatus.PENDING: TaskState.TASK_STATE_SUBMITTED, TaskStatus.IN_PROGRESS: TaskState.TASK_STATE_WORKING,
    TaskStatus.COMPLETED: TaskState.TASK_STATE_COMPLETED, TaskStatus.FAILED: TaskState.TASK_STATE_FAILED,
    TaskStatus.CANCELLED: TaskState.TASK_STATE_CANCELED,
}  # fmt: skip
_CARD = {
    "name": "Conclave", "description": _DESCRIPTION, "version": __version__,
    "capabilities": {"streaming": False, "pushNotifications": False},
    "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain", "application/json"],
    "skills": [
        {
            "id": "ask", "name": "Ask", "description": _DESCRIPTION, "tags": ["documents", "policies", "vi", "en"],
            "examples": ["Đi muộn bị xử lý thế nào?", "How long must a password be?"],
        }
    ],
    "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}},
    "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
}  # fmt: skip


class Call(Received):
    """A JSON-RPC call."""

    jsonrpc: Literal["2.0"]
    id: str | int | None = None
    method: str = Field(max_length=64)
    params: dict[str, Any] = Field(default_factory=dict)


class Names(Received):
    """What a client calls its message and its conversation."""

    messageId: Label
    contextId: Text = Field("", max_length=200)


@router.get(CARD_PATH, summary="What this agent is, for other agents")
async def card(request: Request) -> dict[str, Any]:
    """Says how to ask, and nothing of who uses the service or what it knows."""
    url = str(request.base_url).rstrip("/") + PATH
    versions = [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version} for version in ("1.0", "0.3")]
    described = json_format.ParseDict({**_CARD, "supportedInterfaces": versions}, AgentCard())
    return json_format.MessageToDict(described, always_print_fields_with_no_presence=False)


@router.post(PATH, summary="Ask, as other agents do", response_model=None)
async def rpc(call: Call, caller: Caller, services: Services, request: Request) -> JSONResponse:
    """``SendMessage`` asks and answers with the task and its answer; ``GetTask`` looks at one. Refusals are JSON-RPC
    errors with our code in ``data``."""
    try:
        match call.method:
            case "SendMessage":
                task = await _send(services, caller, _parse(call, SendMessageRequest()), request)
                result = {"task": json_format.MessageToDict(task)}
            case "message/send":
                given = types_v03.MessageSendParams.model_validate(call.params)
                asked = types_v03.SendMessageRequest(id=str(call.id), params=given)
                task = await _send(services, caller, conversions.to_core_send_message_request(asked), request)
                result = _json_v03(task)
            case "GetTask":
                result = json_format.MessageToDict(await _get(services, caller, _parse(call, GetTaskRequest()).id))
            case "tasks/get":
                named = types_v03.TaskQueryParams.model_validate(call.params)
                result = _json_v03(await _get(services, caller, named.id))
            case _:
                return _refuse(call, _NO_METHOD, "There is no such method; see the agent's card.", ErrorCode.NOT_FOUND)
    except ValidationError as invalid:
        return _refuse(call, _BAD_PARAMS, describe_validation(invalid.errors()), ErrorCode.PAYLOAD_INVALID)
    except json_format.ParseError:
        return _refuse(call, _BAD_PARAMS, "params: do not have the form of this method.", ErrorCode.PAYLOAD_INVALID)
    except AppError as error:
        number = _NUMBERS.get(error.code, _INTERNAL)
        return _refuse(call, number, error.detail, error.code, error.retry_after_seconds)
    return JSONResponse({"jsonrpc": "2.0", "id": call.id, "result": result})


def _parse(call: Call, message: MessageT) -> MessageT:
    return json_format.ParseDict(call.params, message, ignore_unknown_fields=True)


def _refuse(
    call: Call, number: int, message: str, code: ErrorCode, retry_after_seconds: int | None = None
) -> JSONResponse:
    info: dict[str, str] = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": code.value,
        "domain": "conclave",
    }
    data, headers = [info], {}
    if retry_after_seconds is not None:
        data.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{retry_after_seconds}s"})
        headers["Retry-After"] = str(retry_after_seconds)
    error = {"code": number, "message": message, "data": data}
    return JSONResponse({"jsonrpc": "2.0", "id": call.id, "error": error}, headers=headers)


def _json_v03(task: A2ATask) -> dict[str, Any]:
    return conversions.to_compat_task(task).model_dump(mode="json", by_alias=True, exclude_none=True)


async def _send(services: AppServices, caller: Principal, asked: SendMessageRequest, request: Request) -> A2ATask:
    """Ask, and wait for the end unless the caller will look at the task itself."""
    message = asked.message
    validated(Names, {"messageId": message.message_id, "contextId": message.context_id})
    body = _question_in(caller, asked)
    run = await start_run(services, caller, body, f"a2a {message.message_id}", opens_session=True)
    if asked.configuration.return_immediately:
        return await _get(services, caller, str(run.task_id))
    status, answer = await wait_for_end(services, run, request)
    if status == 200:
        state = TaskState.TASK_STATE_COMPLETED
    else:
        is_stopped = answer.get("error_code") == ErrorCode.TASK_CANCELLED.value
        state = TaskState.TASK_STATE_CANCELED if is_stopped else TaskState.TASK_STATE_FAILED
    return _task(run.task_id, run.session_id, state, answer)


def _question_in(caller: Principal, asked: SendMessageRequest) -> ChatBody:
    message = asked.message
    if message.role != Role.ROLE_USER or not all(part.WhichOneof("content") == "text" for part in message.parts):
        raise AppError(ErrorCode.PAYLOAD_INVALID, QUESTION_MISSING, status=422)
    wishes = validated(Wishes, {**json_format.MessageToDict(asked.metadata), "approve_plan": False})
    session_id = session_of(caller, message.context_id) if message.context_id else None
    return question_body("\n".join(part.text for part in message.parts), session_id, wishes)


async def _get(services: AppServices, caller: Principal, name: str) -> A2ATask:
    """A question of the caller. Raises `AppError` (404)."""
    try:
        task = await own_run(services, caller, UUID(name))
    except ValueError:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "id: is not valid.", status=422) from None
    if task.kind != "chat":
        raise AppError(ErrorCode.NOT_FOUND, "There is no such task.", status=404)
    return _task(task.task_id, task.session_id, _STATES[task.status], in_seed_order(task.result or {}))


def _task(task_id: UUID, session_id: UUID, state: TaskState, answer: Mapping[str, Any]) -> A2ATask:
    """A task as A2A describes it."""
    task = A2ATask(id=str(task_id), context_id=str(session_id))
    task.status.state = state
    if state == TaskState.TASK_STATE_COMPLETED:
        data = json_format.ParseDict({name: answer[name] for name in _ANSWER_DATA if name in answer}, Value())
        parts = [Part(text=str(answer["answer"])), Part(data=data)]
        task.artifacts.append(Artifact(artifact_id="answer", name="answer", parts=parts))
    elif state in (TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED):
        reason = str(answer.get("error_message") or answer.get("detail") or "The run did not end.")
        message = Message(message_id=f"{task_id}:status", role=Role.ROLE_AGENT, parts=[Part(text=reason)])
        message.metadata["error_code"] = str(answer.get("error_code") or answer.get("code") or "")
        task.status.message.CopyFrom(message)
    return task


FACE = Face(router, roots=(PATH,), open_paths=frozenset({CARD_PATH}))
