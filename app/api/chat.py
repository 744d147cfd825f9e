"""Asking: wait for the answer, watch it come, or see the plan only."""

import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Request
from pydantic import create_model
from starlette.responses import JSONResponse, Response

from app.api.deps import Caller, Services, check_question
from app.api.history import OriginOfCall
from app.api.problem import MEDIA_TYPE
from app.api.runs import as_asked, start_run, wait_for_end
from app.api.schemas import EXAMPLES, ChatBody, PlanView, Problem, WaitingView
from app.api.sse import EventStream, JournalStream
from app.domain.answer import ErrorAnswer, FinalAnswer, Outcome
from app.domain.plan import ChitchatPlan, Plan

router = APIRouter(tags=["chat"])
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="The same key again never starts a second run: the first run's answer comes back.",
    ),
]
_TOKENS_PER_PASSAGE_SET = 2_000
"""What one retrieval step gives a model to read: eight passages of about 250 tokens."""
_CHARS_PER_TOKEN = 3
"""Vietnamese and English text, rounded down so that the estimate errs high."""
_KEPT: dict[str, Any] = {"outcome": (Outcome, ...), "session_id": (UUID, ...), "task_id": (UUID, ...)}
_ANSWER = create_model("RunAnswer", __base__=FinalAnswer, **_KEPT)
_FAILURE = create_model("RunFailure", __base__=ErrorAnswer, **_KEPT)
_EITHER = {"model": _FAILURE, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _example(name: str) -> dict[str, Any]:
    return {"content": {"application/json": {"example": EXAMPLES[name]}}}


@router.post(
    "/chat",
    summary="Ask and wait for the answer",
    response_model=None,
    responses={
        200: {"model": _ANSWER, "description": "The answer (§5), with session_id, task_id, outcome"}
        | _example("answer"),
        202: {"model": WaitingView, "description": "The run waits until its plan was approved"},
        409: _EITHER | {"description": "The run was stopped (§6), or one with the same key still runs"},
        502: {"model": _FAILURE, "description": "The run failed (§6)"} | _example("error_answer"),
        504: _EITHER | {"description": "The run took too long (§6), or goes on"},
    },
)
async def chat(
    body: ChatBody, caller: Caller, services: Services, request: Request, origin: OriginOfCall,
    idempotency_key: IdempotencyKey = None,
) -> Response:  # fmt: skip
    """Registers a run and answers when it ends, or with 202 when it waits for its plan to be approved. The run goes on
    when the connection is lost; find it by its task."""
    run = await start_run(services, caller, body, idempotency_key, origin=origin)
    status, answer = await wait_for_end(services, run, request)
    return JSONResponse(answer, status_code=status) if answer else Response(status_code=status)


@router.post(
    "/chat/stream",
    summary="Ask and watch the run",
    response_class=EventStream,
    response_model=None,
    responses={
        200: {
            "description": "Server-sent events: `id` = seq, `event` = type, `data` = JSON; the first one is "
            "`task_available`, the last one `final_report`, `task_failed` or `task_cancelled`. Behind `interrupt` "
            "nothing comes before the plan was approved or refused; the stream stays open",
            "content": {"text/event-stream": {"example": EXAMPLES["stream"]}},
        }
    },
)
async def chat_stream(
    body: ChatBody, caller: Caller, services: Services, origin: OriginOfCall, idempotency_key: IdempotencyKey = None
) -> Response:
    """Like `/chat`, as a stream of the run's journal. Come back with `GET /tasks/{task_id}/events` after a loss; the
    same Idempotency-Key attaches to the same run again."""
    run = await start_run(services, caller, body, idempotency_key, origin=origin)
    return JournalStream(services.journal.follow(run.principal, run.task_id))


@router.post("/plans", summary="See the plan of a question", responses={200: _example("plan"), 403: {"model": Problem}})
async def plan(body: ChatBody, caller: Caller, services: Services) -> PlanView:
    """The plan a question would get, and roughly what a language model would read and write for it. Nothing is
    executed or stored."""
    check_question(body.query, services.limits)
    principal = as_asked(caller, body)
    if body.files:
        await services.attachments.check(principal, body.files)
    request = body.request()
    known = await services.flow.recall(principal, body.session_id, request) if body.session_id is not None else None
    flow = services.deep if request.mode == "deep" else services.flow
    drafted = await flow.dry_run(principal, request, known)
    written = drafted.model_dump(mode="json")
    return PlanView(
        plan=written, user_access=tuple(sorted(principal.scopes)), token_estimate=_token_estimate(drafted, written)
    )


def _token_estimate(plan_directly: Plan | ChitchatPlan, written: dict[str, Any]) -> int:
    """Tokens a model would read and write: the plan, one set of passages a retrieval query, a text a later step."""
    if isinstance(plan_directly, ChitchatPlan):
        return 0
    plan_tokens = len(json.dumps(written, ensure_ascii=False)) // _CHARS_PER_TOKEN
    queries = sum(len(agent.queries) for agent in plan_directly.agents.values())
    return plan_tokens + _TOKENS_PER_PASSAGE_SET * queries + 500 * len(plan_directly.steps)
