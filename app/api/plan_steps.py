"""A plan as a list of steps that turn from pending to done, for programs that show it."""

from collections.abc import Mapping
from typing import Any

_MOVES = (
    ("current_task", "pending", "in_progress"),
    ("completed_task", "in_progress", "completed"),
    ("failed_task", "in_progress", "failed"),
)
"""What a progress object names, and how that step's state changes."""


class PlanSteps:
    """The steps of a plan in their order, with where each of them is."""

    def __init__(self, plan: Mapping[str, Any]):
        """`plan` as in `PlanReady`."""
        tiers = plan.get("execution_flow", {}).get("planning", {}).get("tasks", ())
        self.steps: list[dict[str, Any]] = [
            {
                "tier": int(number), "agent": step["agent"], "tool": step["tool"],
                "purpose": step.get("purpose") or step.get("message", ""), "status": step.get("status", "pending"),
            }
            for tier in tiers
            for number, steps in tier.items()
            for step in steps
        ]  # fmt: skip

    def move(self, output: Mapping[str, Any]) -> int | None:
        """Take over what a progress object says of a step; which one changed, None when none did."""
        for name, before, after in _MOVES:
            told = output.get(name)
            if isinstance(told, Mapping):
                wanted = (told.get("agent"), told.get("tool"), told.get("purpose"), before)
                for index, step in enumerate(self.steps):
                    if (step["agent"], step["tool"], step["purpose"], step["status"]) == wanted:
                        step["status"] = after
                        return index
        return None
