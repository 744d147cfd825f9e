"""One step of a plan as it is ordered, as its agent makes the call, and as it ended."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.domain.knowledge import Finding
from app.domain.plan import PlannedStep
from app.domain.tasks import PrivateContext
from app.tasks.run import TaskRun
from app.tools.base import ToolCall, ToolResult

ErrorType = Literal["timeout", "deadline", "tool_failed", "exception"]


@dataclass(frozen=True)
class StepError:
    """Why a step failed; `message` may be shown to the asker."""

    error_type: ErrorType
    message: str


@dataclass(frozen=True)
class ToolUse:
    """One call of a tool."""

    tool: str
    status: Literal["ok", "failed", "timeout"]
    duration_ms: int
    input_hash: str
    output_hash: str | None


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
    calls: tuple[ToolUse, ...] = ()
    """Every call that was made, in order: tries, and the alternative."""
    rejections: tuple[str, ...] = ()
    """Why findings of the result did not stand up to review."""

    @property
    def ok(self) -> bool:
        """Whether the tool gave a result."""
        return self.error is None


@dataclass(frozen=True)
class StepOrder:
    """One step to run, with its limits."""

    run: TaskRun
    task_id: UUID
    """The step's own task row."""
    step: PlannedStep
    departments: tuple[str, ...]
    """Departments the agent reads."""
    findings: tuple[Finding, ...]
    """What earlier tiers found, as far as this agent may use it."""
    instructions: str
    """The agent's own, from its YAML file."""
    files: tuple[UUID, ...]
    """Attached to the question."""
    time_zone: str
    """Of the asker's tenant."""
    now: datetime
    timeout_seconds: float
    """For all tries together."""
    deadline_binds: bool
    """Whether `timeout_seconds` is what is left of the run rather than the agent's own limit."""
    max_retries: int


def call_of(order: StepOrder, instruction: str, context: PrivateContext, until: float) -> ToolCall:
    """The call as the agent makes it: its instruction, and the context it was kept under; see `ToolCall.until`."""
    return ToolCall(
        principal=order.run.principal,
        agent=order.step.step.agent,
        departments=order.departments,
        message=context.message,
        queries=context.queries,
        refined_query=context.refined_query,
        language=context.language,
        findings=order.findings,
        as_of=context.as_of,
        instructions="\n".join(filter(None, (order.instructions, instruction))),
        files=order.files,
        time_zone=order.time_zone,
        now=order.now,
        until=until,
    )
