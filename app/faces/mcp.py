"""The service as an MCP server at `/mcp` (streamable HTTP): ``ask``, ``search_documents``, ``get_task``.

Every call is made with the rights of the bearer token it came with; nothing is kept between calls, so any process can
answer any of them. A question that a client gives up on is answered all the same; ``get_task`` finds it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, TypeVar
from uuid import UUID

from fastapi import APIRouter, FastAPI, Request
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import Field, ValidationError
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app import __version__
from app.api.deps import AppServices, caller_of, check_question, services_of
from app.api.runs import start_run
from app.api.schemas import Body, Label, Question
from app.api.tasks import own_run
from app.domain.answer import in_seed_order
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode, describe_validation
from app.events import TaskCancelled
from app.faces.asking import Wishes, question_body
from app.faces.face import Face
from app.faces.updates import ANSWER_FIELDS, Answered, Failed, Progressed, RunReader

PATH = "/mcp"
_DONE_PERCENT = 100
_READ = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ASK = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)


class AskArguments(Body):
    """Answers a question from the company's policy documents that you may read, with its sources."""

    question: Question = Field(description="In Vietnamese or English; answered in the same language")
    session_id: UUID | None = Field(None, description="Of an earlier answer, to go on with that conversation")
    agent: Label | None = Field(None, description="Ask this department agent alone, such as hr")
    as_of: date | None = Field(None, description="Answer by the rules in force on this day")
    mode: Literal["auto", "department", "deep"] = Field("auto", description="deep: several dependent steps")


class SearchArguments(Body):
    """Finds passages of the company's documents that you may read."""

    query: Question
    departments: tuple[Label, ...] | None = Field(None, min_length=1, max_length=32, description="Only of these")
    limit: int = Field(8, ge=1, le=20)
    as_of: date | None = None


class TaskArguments(Body):
    """A question you asked: its state, and its answer with the whole trace."""

    task_id: UUID


@dataclass(frozen=True)
class _Call:
    """One call: who, with what, and whom to tell how far it is."""

    services: AppServices
    caller: Principal
    tell: Callable[[float, float | None, str | None], Awaitable[None]]


@asynccontextmanager
async def _serve(app: FastAPI) -> AsyncIterator[None]:
    """Answer calls until the context ends."""
    server: Server[Any] = Server("conclave", version=__version__, on_list_tools=_list_tools, on_call_tool=_call_tool)
    manager = StreamableHTTPSessionManager(app=server, stateless=True)
    async with manager.run():
        app.state.mcp = manager
        try:
            yield
        finally:
            app.state.mcp = None


class _Endpoint:
    """The ASGI application at `PATH`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, whose caller was let in."""
        manager: StreamableHTTPSessionManager | None = getattr(scope["app"].state, "mcp", None)
        if manager is None:
            raise AppError(ErrorCode.OVERLOADED, "The service is starting or stopping.", status=503)
        await manager.handle_request(scope, receive, send)


async def _call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
    try:
        if params.name not in _TOOLS:
            raise AppError(ErrorCode.NOT_FOUND, "There is no such tool.", status=404)
        model, run, _ = _TOOLS[params.name]
        if not isinstance(context.request, Request):
            raise AppError(ErrorCode.UNAUTHENTICATED, "A valid bearer token is needed.", status=401)
        given = model.model_validate(params.arguments or {})
        caller, services = caller_of(context.request, None), services_of(context.request)
        text, content = await run(_Call(services, caller, context.session.report_progress), given)
    except ValidationError as invalid:
        return _refused(ErrorCode.PAYLOAD_INVALID, describe_validation(invalid.errors()))
    except AppError as refusal:
        return _refused(refusal.code, refusal.detail, refusal.retry_after_seconds)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)


async def _list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[
        Tool(name=name, description=arguments.__doc__, input_schema=arguments.model_json_schema(), annotations=hints)
        for name, (arguments, _, hints) in _TOOLS.items()
    ])  # fmt: skip


async def _ask(call: _Call, given: AskArguments) -> tuple[str, dict[str, Any]]:
    wishes = Wishes(mode=given.mode, agent=given.agent, as_of=given.as_of)
    run = await start_run(call.services, call.caller, question_body(given.question, given.session_id, wishes), None)
    reader = RunReader(with_text=False)
    entries = call.services.journal.follow(run.principal, run.task_id)
    async with aclosing(reader.updates(entries)) as updates:
        async for _, update in updates:
            match update:
                case Progressed(is_counted=True):
                    await call.tell(reader.progress, _DONE_PERCENT, reader.message or None)
                case Answered(answer=answer):
                    return str(answer["answer"]), {name: answer[name] for name in ANSWER_FIELDS if name in answer}
                case Failed(message=message, code=code):
                    raise AppError(code, message, status=502)
                case TaskCancelled(reason=reason):
                    raise AppError(ErrorCode.TASK_CANCELLED, f"The task was stopped: {reason}", status=409)
                case _:
                    pass
    raise AppError(ErrorCode.INTERNAL, f"The run {run.task_id} ended without an answer.", status=500)


async def _search(call: _Call, given: SearchArguments) -> tuple[str, dict[str, Any]]:
    check_question(given.query, call.services.limits)
    found = await call.services.retriever.search(
        call.caller, given.query, departments=given.departments, limit=given.limit, as_of=given.as_of
    )
    text = "\n\n".join(f"{passage.title} ({passage.address})\n{passage.text}" for passage in found.passages)
    shown = {"title", "section", "text", "url", "department", "scope", "created_at", "relevance_score"}
    return text, {"passages": [passage.model_dump(mode="json", include=shown) for passage in found.passages]}


async def _get_task(call: _Call, given: TaskArguments) -> tuple[str, dict[str, Any]]:
    task = await own_run(call.services, call.caller, given.task_id)
    result = in_seed_order(task.result) if task.result else None
    told = {
        "task_id": str(task.task_id), "status": task.status.value, "question": task.title,
        "session_id": str(task.session_id), "result": result,
    }  # fmt: skip
    return str((result or {}).get("answer") or task.status.value), told


_ArgumentsT = TypeVar("_ArgumentsT", bound=Body)
_Run = Callable[[_Call, _ArgumentsT], Awaitable[tuple[str, dict[str, Any]]]]
"""Gives a text for people and the same for programs. Raises `AppError`."""
_TOOLS: Mapping[str, tuple[type[Body], _Run[Any], ToolAnnotations]] = {
    "ask": (AskArguments, _ask, _ASK),
    "search_documents": (SearchArguments, _search, _READ),
    "get_task": (TaskArguments, _get_task, _READ),
}


def _refused(code: ErrorCode, detail: str, retry_after_seconds: int | None = None) -> CallToolResult:
    later = {} if retry_after_seconds is None else {"retry_after_seconds": retry_after_seconds}
    return CallToolResult(
        content=[TextContent(type="text", text=f"{code.value}: {detail}")],
        structured_content={"code": code.value, **later}, is_error=True,
    )  # fmt: skip


_ROUTE = Route(PATH, endpoint=_Endpoint(), include_in_schema=False)
FACE = Face(APIRouter(routes=[_ROUTE], lifespan=_serve), roots=(PATH,))
