"""One step of a plan as it is ordered, as its agent makes the call, and as it ended."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from app.domain.answer import ToolTrace, iso_utc
from app.domain.knowledge import Finding
from app.domain.plan import PlannedStep
from app.domain.tasks import PrivateContext
from app.events import AgentResult, AgentTask, Event, NavigationError
from app.tasks.run import TaskRun
from app.tools.base import Toolbox, ToolCall, ToolResult

ErrorType = Literal["timeout", "deadline", "tool_failed", "exception"]


@dataclass(frozen=True)
class StepError:
    """Why a step failed; `message` may be shown to the asker."""

    error_type: ErrorType
    message: str


@dataclass(frozen=True)
class StepOutcome:
    """A finished step."""

    step: PlannedStep
    tool: str
    """The tool that gave the result or failed last: the planned one, or its alternative."""
    started_at: datetime
    ended_at: datetime
    duration_ms: int
    input_hash: str
    output_hash: str | None
    result: ToolResult | None
    error: StepError | None
    calls: tuple[ToolTrace, ...] = ()
    """Every call that was made, in order: tries, and the alternative."""
    rejections: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the tool gave a result."""
        return self.error is None


@dataclass(frozen=True, kw_only=True)
class StepWork:
    """All of an order that travels to an agent elsewhere. Who asks is no part of it: that stands in the run's row."""

    step: PlannedStep
    departments: tuple[str, ...]
    findings: tuple[Finding, ...]
    """What earlier tiers found, as far as this agent may use it."""
    instructions: str
    is_strict: bool = False
    """See `ToolCall.is_strict`."""
    files: tuple[UUID, ...]
    time_zone: str
    now: datetime
    deadline_binds: bool
    """Whether `StepOrder.timeout_seconds` is what is left of the run rather than the agent's own limit."""
    max_retries: int
    agent_type: str = ""
    token_limit: int | None = None
    context_hash: str | None = None
    """Names what the agent restores besides the instruction."""


@dataclass(frozen=True, kw_only=True)
class StepOrder(StepWork):
    """One step to run, with its limits."""

    run: TaskRun
    task_id: UUID
    timeout_seconds: float
    """For all tries together."""
    given: Mapping[str, str] | None = None
    """See `ToolCall`; so are the next two. For steps done in the leader's process."""
    asked: str = ""
    worked_out: tuple[str, ...] = ()


class Steps(Protocol):
    """Whoever gets steps done."""

    @property
    def toolbox(self) -> Toolbox:
        """The tools of this process."""

    async def run(self, order: StepOrder) -> StepOutcome:
        """Take a step to its end, told in the run's journal and in the step's row. A failing tool is an outcome; raises
        `StaleAttempt` only, when the run was given to somebody else."""


def call_of(order: StepOrder, instruction: str, context: PrivateContext, until: float) -> ToolCall:
    """The call as the agent makes it: its instruction, and the context it was kept under; see `ToolCall.until`."""
    return ToolCall(
        principal=order.run.principal, agent=order.step.step.agent, departments=order.departments,
        message=context.message, queries=context.queries, refined_query=context.refined_query,
        language=context.language, findings=order.findings, as_of=context.as_of,
        instructions="\n".join(filter(None, (order.instructions, instruction))), files=order.files,
        is_strict=order.is_strict,
        time_zone=order.time_zone, now=order.now, until=until, given=order.given, asked=order.asked,
        worked_out=order.worked_out,
    )  # fmt: skip


def task_event(order: StepOrder, attempt: int) -> AgentTask:
    """What the run's journal says when the step is given out."""
    planned = order.step
    return AgentTask(
        task_id=order.task_id, agent=planned.step.agent, node_id=planned.node_id, tool=planned.step.tool,
        attempt=attempt, agent_type=order.agent_type, token_limit=order.token_limit,
        deadline=order.run.task.deadline, context_hash=order.context_hash,
    )  # fmt: skip


def unanswered(order: StepOrder, started_at: datetime, ended_at: datetime) -> StepOutcome:
    """How a step ends that nobody did in its time."""
    tool = order.step.step.tool
    return StepOutcome(
        step=order.step, tool=tool, started_at=started_at, ended_at=ended_at,
        duration_ms=round((ended_at - started_at).total_seconds() * 1000),
        input_hash=input_hash(tool, order.step.step.message, order.step.queries, order.findings, order.given),
        output_hash=None, result=None,
        error=StepError("deadline" if order.deadline_binds else "timeout", "Tool timeout"),
    )  # fmt: skip


def failure_of(outcome: StepOutcome) -> dict[str, str] | None:
    """What a trace tells of a failed step; None for one that did not fail."""
    if outcome.error is None:
        return None
    tool, kind = outcome.tool, outcome.error.error_type
    return {"failed_agent": outcome.step.step.agent, "failed_tool": tool, "error_type": kind}


def last_events(order: StepOrder, outcome: StepOutcome) -> list[Event]:
    """What a step's journal says at its end."""
    told: list[Event] = []
    if outcome.error:
        code = "TOOL_TIMEOUT" if outcome.error.error_type in ("timeout", "deadline") else "TOOL_FAILED"
        told.append(NavigationError(node_id=order.step.node_id, error_code=code, message=outcome.error.message))
    answered = AgentResult(
        task_id=order.task_id, agent=order.step.step.agent, node_id=order.step.node_id,
        status="completed" if outcome.ok else "failed", answer=outcome.result.text if outcome.result else "",
        agent_type=order.agent_type,
    )  # fmt: skip
    return [*told, answered]


def stored_result(outcome: StepOutcome) -> dict[str, object]:
    """What the step's row keeps: the answer and ids of what it rests on, no copy of document text beyond that."""
    findings = outcome.result.findings if outcome.result else ()
    told = {name: getattr(outcome, name) for name in ("tool", "duration_ms", "input_hash", "output_hash")}
    return {
        **told,
        "node_id": outcome.step.node_id,
        "error_type": outcome.error.error_type if outcome.error else None,
        "answer": outcome.result.text if outcome.result else "",
        "value": outcome.result.value if outcome.result else None,
        "chunks": sorted({str(quote.passage.chunk_id) for finding in findings for quote in finding.quotes}),
    }


def input_hash(
    tool: str, message: str, queries: Sequence[tuple[int, str]], findings: Sequence[Finding],
    given: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """Names what a tool was given."""
    chosen = "".join(f"\n{name}={value}" for name, value in sorted((given or {}).items()))
    asked = "\n".join(text for _, text in queries)
    earlier = "\n".join(finding.answer for finding in findings)
    return _hash(f"{tool}\n{message}\n{asked}\n{earlier}{chosen}")


def output_hash(result: ToolResult) -> str:
    """Names what a tool gave."""
    cited = "\n".join(f"{e.url} {iso_utc(e.created_at)}" for finding in result.findings for e in finding.evidence)
    return _hash(f"{result.text}\n{cited}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
