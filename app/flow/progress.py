"""The seed's progress objects (§9.2): node ``execute_planning``, from 75 when the plan is ready to 95 when all ran."""

from collections.abc import Sequence
from typing import Any

from app.domain.answer import AgentOutput, to_json
from app.domain.plan import PlannedStep
from app.events import Progress

NODE = "execute_planning"
_PLAN_READY, ALL_DONE = 75, 95


def percentage(done: int, total: int) -> float | int:
    """Progress after `done` of `total` steps, one decimal, whole numbers written as such: 75, 81.7, 88.3, 95."""
    value = round(_PLAN_READY + (ALL_DONE - _PLAN_READY) * done / total, 1)
    return int(value) if value.is_integer() else value


def plan_ready(steps: Sequence[PlannedStep]) -> Progress:
    """The plan stands; its steps are listed."""
    return _progress(
        "plan_ready",
        _PLAN_READY,
        "Execution plan is ready",
        plan_summary={
            "total_tasks": len(steps),
            "tasks": [{"step_number": s.number, **_named(s), "message": s.step.message} for s in steps],
        },
    )


def executing(step: PlannedStep, done: int, total: int, *, least: float = 0) -> Progress:
    """A step begins. `least`: what was shown before, so that steps that came later take nothing back."""
    message = f"Task {step.number}/{total}: {step.step.label}"
    return _progress("executing_task", max(percentage(done, total), least), message, current_task=_named(step))


def completed(step: PlannedStep, done: int, total: int, *, ok: bool, least: float = 0) -> Progress:
    """A step ended; `done` counts it. `least`: see `executing`."""
    status = "completed" if ok else "failed"
    message = f"{status.capitalize()} {done}/{total}: {step.step.label}"
    return _progress(
        f"task_{status}",
        max(percentage(done, total), least),
        message,
        **{f"{status}_task": {**_named(step), "status": status}},
    )


def ready_for_resolution(outputs: Sequence[AgentOutput]) -> Progress:
    """Every step ended; the agents' outputs follow (§3)."""
    return _progress(
        "ready_for_resolution",
        ALL_DONE,
        "All tasks completed, proceeding to final response",
        agent_responses=[to_json(output) for output in outputs],
    )


def _named(step: PlannedStep) -> dict[str, str]:
    return {"agent": step.step.agent, "tool": step.step.tool, "purpose": step.step.label}


def _progress(status: str, percent: float, message: str, **rest: Any) -> Progress:
    output = {"processing_status": status, "progress_percentage": percent, "progress_message": message, **rest}
    return Progress(node=NODE, output=output)
