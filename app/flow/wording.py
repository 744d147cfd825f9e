"""Write the few sentences the flow itself says, in both languages, and the seed's progress objects (§9.2).

Progress is of node ``execute_planning``, from 75 when the plan is ready to 95 when all ran.
"""

import tomllib
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from app.domain.answer import AgentOutput, to_json
from app.domain.conflicts import FACTORS, Conflict, Side
from app.domain.knowledge import Language
from app.domain.plan import PlannedStep
from app.events import Progress

SENTENCES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ACRONYM = 2
_TOLD_DIFFERENCE = 0.05
"""A factor is named as a reason when it differs at least this much."""


def reason_for(conflict: Conflict, language: Language) -> str:
    """Why one source beat the other: the rule that decided, else the factors in which it leads, largest lead first."""
    named = [conflict.rule] if conflict.rule != "weighted_scoring" else _leads(conflict) or ["even"]
    return ", ".join(_filled(SENTENCES["reasons"][language][name], conflict.winner) for name in named)


def preference_for(conflict: Conflict, language: Language) -> str:
    """The sentence ``reasoning`` begins with, in the seed's form (§5)."""
    leads, winner = _leads(conflict), conflict.winner
    by_rule = conflict.rule != "weighted_scoring"
    named = [conflict.rule] if by_rule else [name for name in FACTORS if name in leads and name != "domain"]
    traits = ", ".join(_filled(SENTENCES["traits"][language][name], winner) for name in named)
    occasions = SENTENCES["occasions"][language]
    named_as = winner.department.upper() if len(winner.department) <= _ACRONYM else winner.department
    told: str = SENTENCES["preference"][language].format(
        who=SENTENCES["who"][language].get(winner.kind) or named_as,
        traits=f" ({traits})" if traits else "",
        occasion=occasions.get(winner.department, occasions["other"]) if "domain" in leads and not by_rule else "",
    )
    return told


def _leads(conflict: Conflict) -> list[str]:
    mine, theirs = conflict.winner.factors, conflict.loser.factors
    leads = sorted(((mine[name] - theirs[name], name) for name in FACTORS), reverse=True)
    return [name for lead, name in leads if lead >= _TOLD_DIFFERENCE]


def _filled(text: str, side: Side) -> str:
    return text.format(department=side.department, scope=side.scope, since=side.effective.date())


def as_of_lead(day: date, language: Language) -> str:
    """The line above an answer from the documents of another day."""
    return str(SENTENCES["as_of"][language].format(day=day))


def failure_message(agent: str, tool: str) -> str:
    """The seed's error sentence (§6)."""
    return f"{agent.upper() if len(agent) <= 2 else agent.capitalize()} agent failed to execute {tool}"


DEADLINE_MESSAGE = "The run did not end within its deadline"


NODE = "execute_planning"
_PLAN_READY, ALL_DONE = 75, 95


def percentage(done: int, total: int) -> float | int:
    """Progress after `done` of `total` steps, one decimal, whole numbers written as such: 75, 81.7, 88.3, 95."""
    value = round(_PLAN_READY + (ALL_DONE - _PLAN_READY) * done / total, 1)
    return int(value) if value.is_integer() else value


def plan_ready_progress(steps: Sequence[PlannedStep]) -> Progress:
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


def step_begun_progress(step: PlannedStep, done: int, total: int, *, least: float = 0) -> Progress:
    """A step begins. `least`: what was shown before, so that steps that came later take nothing back."""
    message = f"Task {step.number}/{total}: {step.step.label}"
    return _progress("executing_task", max(percentage(done, total), least), message, current_task=_named(step))


def step_ended_progress(step: PlannedStep, done: int, total: int, *, ok: bool, least: float = 0) -> Progress:
    """A step ended; `done` counts it. `least`: see `step_begun_progress`."""
    status = "completed" if ok else "failed"
    message = f"{status.capitalize()} {done}/{total}: {step.step.label}"
    return _progress(
        f"task_{status}", max(percentage(done, total), least), message,
        **{f"{status}_task": {**_named(step), "status": status}},
    )  # fmt: skip


def all_ran_progress(outputs: Sequence[AgentOutput]) -> Progress:
    """Every step ended; the agents' outputs follow (§3)."""
    return _progress(
        "ready_for_resolution", ALL_DONE, "All tasks completed, proceeding to final response",
        agent_responses=[to_json(output) for output in outputs],
    )  # fmt: skip


def _named(step: PlannedStep) -> dict[str, str]:
    return {"agent": step.step.agent, "tool": step.step.tool, "purpose": step.step.label}


def _progress(status: str, percent: float, message: str, **rest: Any) -> Progress:
    output = {"processing_status": status, "progress_percentage": percent, "progress_message": message, **rest}
    return Progress(node=NODE, output=output)
