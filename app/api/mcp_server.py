"""The service as an MCP server at `/mcp` (streamable HTTP): ``ask``, ``search_documents``, ``get_task``.

Every call is made with the rights of the bearer token it came with; nothing is kept between calls, so any process can
answer any of them. A question that a client gives up on is answered all the same; ``get_task`` finds it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal
from uuid import UUID

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
from starlette.types import Receive, Scope, Send

from app import __version__
from app.api.deps import Rooms, check_question
from app.api.problem import describe_validation
from app.api.runs import start_run
from app.api.schemas import Body, ChatBody, Label, Question
from app.api.seed_order import in_seed_order
from app.api.tasks import own_run
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.events import FinalReport, Progress, TaskCancelled, TaskFailed

PATH = "/mcp"
_DONE_PERCENT = 100
_READ = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ASK = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)


class AskArguments(Body):
    """A question."""

    question: Question = Field(description="In Vietnamese or English; answered in the same language")
    session_id: UUID | None = Field(None, description="Of an earlier answer, to go on with that conversation")
    agent: Label | None = Field(None, description="Ask this department agent alone, such as hr")
    as_of: date | None = Field(None, description="Answer by the rules in force on this day")
    mode: Literal["auto", "department", "deep"] = Field("auto", description="deep: several dependent steps")


class SearchArguments(Body):
    """A search."""

    query: Question
    departments: tuple[Label, ...] | None = Field(None, min_length=1, max_length=32, description="Only of these")
    limit: int = Field(8, ge=1, le=20)
    as_of: date | None = None


class TaskArguments(Body):
    """A run."""

    task_id: UUID


@dataclass(frozen=True)
class _Call:
    """One call: who, with what, and whom to tell how far it is."""

    rooms: Rooms
    caller: Principal
    tell: Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass(frozen=True)
class _Offer:
    """One tool."""

    tool: Tool
    arguments: type[Body]
    run: Callable[[_Call, Any], Awaitable[tuple[str, dict[str, Any]]]]
    """Gives a text for people and the same for programs. Raises `AppError`."""


class McpDoor:
    """The ASGI application at `PATH`; `open` it for as long as it serves."""

    def __init__(self, rooms: Callable[[], Rooms]):
        """`rooms` is asked per call."""
        self._rooms = rooms
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Serve until the context ends."""
        server: Server[Any] = Server(
            "conclave", version=__version__, on_list_tools=_list_tools, on_call_tool=self._call_tool
        )
        manager = StreamableHTTPSessionManager(app=server, stateless=True)
        async with manager.run():
            self._manager = manager
            try:
                yield
            finally:
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; the gate has let its caller in."""
        if self._manager is None:
            raise AppError(ErrorCode.OVERLOADED, "The service is starting or stopping.", status=503)
        await self._manager.handle_request(scope, receive, send)

    async def _call_tool(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        offer = _OFFERS.get(params.name)
        caller = getattr(getattr(context.request, "state", None), "principal", None)
        try:
            if offer is None:
                raise AppError(ErrorCode.NOT_FOUND, "There is no such tool.", status=404)
            if not isinstance(caller, Principal):
                raise AppError(ErrorCode.UNAUTHENTICATED, "A valid bearer token is needed.", status=401)
            given = offer.arguments.model_validate(params.arguments or {})
            text, told = await offer.run(_Call(self._rooms(), caller, context.session.report_progress), given)
        except ValidationError as invalid:
            return _refused(ErrorCode.PAYLOAD_INVALID, describe_validation(invalid.errors()))
        except AppError as refusal:
            return _refused(refusal.code, refusal.detail)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=told)


async def _list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[offer.tool for offer in _OFFERS.values()])


async def _ask(call: _Call, given: AskArguments) -> tuple[str, dict[str, Any]]:
    body = ChatBody(
        query=given.question, session_id=given.session_id, as_of=given.as_of,
        agents=None if given.agent is None else {given.agent: {}},
        mode=given.mode if given.agent is None or given.mode == "deep" else "department",
    )  # fmt: skip
    run = await start_run(call.rooms, call.caller, body, None)
    async for entry in call.rooms.journal.follow(run.principal, run.task_id):
        match entry.event:
            case Progress(output=output) if "progress_percentage" in output:
                message = str(output.get("progress_message") or "") or None
                await call.tell(float(output["progress_percentage"]), _DONE_PERCENT, message)
            case FinalReport(answer=answer):
                told = in_seed_order(answer)
                return str(told["answer"]), {name: told[name] for name in _TOLD if name in told}
            case TaskFailed(answer=answer):
                raise _failure(str(answer.get("error_code")), str(answer.get("error_message")))
            case TaskCancelled(reason=reason):
                raise AppError(ErrorCode.TASK_CANCELLED, f"The task was stopped: {reason}", status=409)
            case _:
                pass
    raise AppError(ErrorCode.INTERNAL, f"The run {run.task_id} ended without an answer.", status=500)


_TOLD = (
    "answer", "outcome", "confidence_score", "evidence", "reasoning", "follow_up_questions", "session_id", "task_id",
)  # fmt: skip
"""Of an answer; the trace is in ``get_task``."""


async def _search(call: _Call, given: SearchArguments) -> tuple[str, dict[str, Any]]:
    check_question(given.query, call.rooms.limits)
    found = await call.rooms.retriever.search(
        call.caller, given.query, departments=given.departments, limit=given.limit, as_of=given.as_of
    )
    text = "\n\n".join(f"{passage.title} ({passage.address})\n{passage.text}" for passage in found.passages)
    shown = {"title", "section", "text", "url", "department", "scope", "created_at", "relevance_score"}
    return text, {"passages": [passage.model_dump(mode="json", include=shown) for passage in found.passages]}


async def _get_task(call: _Call, given: TaskArguments) -> tuple[str, dict[str, Any]]:
    task = await own_run(call.rooms, call.caller, given.task_id)
    result = in_seed_order(task.result) if task.result else None
    told = {
        "task_id": str(task.task_id), "status": task.status.value, "question": task.title,
        "session_id": str(task.session_id), "result": result,
    }  # fmt: skip
    return str((result or {}).get("answer") or task.status.value), told


def _offer(
    name: str, description: str, arguments: type[Body], run: Callable[[_Call, Any], Any], hints: ToolAnnotations
) -> tuple[str, _Offer]:
    schema = arguments.model_json_schema()
    tool = Tool(name=name, description=description, input_schema=schema, annotations=hints)
    return name, _Offer(tool, arguments, run)


_OFFERS: dict[str, _Offer] = dict(
    (
        _offer(
            "ask", "Answers a question from the company's policy documents that you may read, with its sources.",
            AskArguments, _ask, _ASK,
        ),
        _offer(
            "search_documents", "Finds passages of the company's documents that you may read.",
            SearchArguments, _search, _READ,
        ),
        _offer("get_task", "A question you asked: its state, and its answer with the whole trace.",
               TaskArguments, _get_task, _READ),
    )
)  # fmt: skip


def _failure(code: str, message: str) -> AppError:
    try:
        return AppError(ErrorCode(code), message, status=502)
    except ValueError:
        return AppError(ErrorCode.INTERNAL, message, status=500)


def _refused(code: ErrorCode, detail: str) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=f"{code.value}: {detail}")], structured_content={"code": code.value},
        is_error=True,
    )  # fmt: skip
