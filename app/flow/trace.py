"""The run's own account of itself: ``flow_action`` (§5), ``execution_metadata`` and ``performance_metrics`` (§7)."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from app.agents.step import StepOutcome, failure_of
from app.domain.answer import ExecutionMetadata, FlowAction, ModelUsage, PerformanceMetrics, ToolUsage, to_json
from app.domain.plan import ORCHESTRATOR, answers_a_query
from app.flow.wording import content_quality
from app.reasoning import AsOf
from app.reasoning.budget import Doings, Spent
from app.telemetry import CacheUse

FINISHED = "done"


class Trace:
    """Collects one run's actions in order; the clock is given."""

    def __init__(self, now: Callable[[], datetime], caches: CacheUse, models: Doings):
        """`caches` and `models` are filled while the run goes on."""
        self._now = now
        self.caches = caches
        self.models = models
        self._actions: list[FlowAction] = []
        self._clock = time.perf_counter()
        self.resolution_ms = 0
        self._lesser: list[str] = []
        self.as_of: AsOf | None = None

    @property
    def degraded(self) -> tuple[str, ...]:
        """What was done in a lesser way, and why."""
        return (*self._lesser, *self.models.downgrades)

    def downgrade(self, note: str) -> None:
        """Something was done in a lesser way."""
        self._lesser.append(note)

    def elapsed_ms(self) -> int:
        """Milliseconds since the run began."""
        return round((time.perf_counter() - self._clock) * 1000)

    @property
    def actions(self) -> tuple[FlowAction, ...]:
        """Everything so far, numbered 1, 2, 3 …"""
        return tuple(self._actions)

    def add(self, node_id: str, kind: str, status: str = FINISHED, **fields: Any) -> None:
        """One more action, behind those there are."""
        self._actions.append(FlowAction.model_validate(
            {"order": len(self._actions) + 1, "node_id": node_id, "type": kind, "status": status, **fields}
        ))  # fmt: skip

    def router(self, started_at: datetime, decision: str, as_of: AsOf | None) -> None:
        """The orchestrator chose a path, and the day whose documents are read when it is not today."""
        dated = {"as_of": as_of.day.isoformat(), "as_of_words": as_of.words} if as_of else {}
        self.as_of = as_of
        told = {"decision": decision, **dated}
        self.add("Router", "router", agent=None, tool=None, started_at=started_at, ended_at=self._now(), metadata=told)

    def recalled(self, resolution: FlowAction | None) -> None:
        """The answer was remembered; so is how its sources were weighed, if they disagreed."""
        self.add("AnswerCache", "cache", metadata={"cached": True})
        if resolution is not None:
            self._actions.append(resolution.model_copy(update={"order": len(self._actions) + 1, "duration_ms": 0}))

    def permission(self, started_at: datetime, scopes: Sequence[str], departments: Sequence[str]) -> None:
        """What the caller may use was settled, before anything ran."""
        self.add(
            "PermissionCheck", "permission", agent=None, tool=None, started_at=started_at, ended_at=self._now(),
            details={"scope": list(scopes), "accessible_departments": list(departments)},
        )  # fmt: skip

    def follows_up(self, active_agent: str) -> None:
        """The question is a follow-up and goes to the session's active agent first: the router's action says so."""
        router = self._actions[0]
        told = {**(router.metadata or {}), "active_agent": active_agent}
        self._actions[0] = router.model_copy(update={"metadata": told})

    def restore(self, actions: Sequence[FlowAction]) -> None:
        """Go on with what an earlier attempt had told."""
        self._actions = [*actions]

    def stage(self, stage: str, node_id: str, started_at: datetime, ok: bool, metadata: dict[str, Any]) -> None:
        """A node of the deep flow was visited."""
        ended_at = self._now()
        self.add(
            node_id, stage, FINISHED if ok else "failed", agent=stage, tool=None, started_at=started_at,
            ended_at=ended_at, metadata=metadata, duration_ms=round((ended_at - started_at).total_seconds() * 1000),
        )  # fmt: skip

    def step(self, outcome: StepOutcome, depends_on: Sequence[str]) -> None:
        """A step ended, well or badly."""
        planned = outcome.step
        answers = answers_a_query(planned.step.tool) and planned.queries
        told = {
            "query_index": planned.queries[0][0] if answers else None, "output_hash": outcome.output_hash,
            "metadata": _call_metadata(outcome) or None, "depends_on": tuple(depends_on) or None,
            "error_details": failure_of(outcome),
        }  # fmt: skip
        self.add(
            planned.node_id, "agent_tool", FINISHED if outcome.ok else "failed", agent=planned.step.agent,
            tool=outcome.tool, started_at=outcome.started_at, ended_at=outcome.ended_at,
            duration_ms=outcome.duration_ms, input_hash=outcome.input_hash,
            **{name: value for name, value in told.items() if value is not None},
        )  # fmt: skip

    def resolver(self, duration_ms: int, policy: str, resolved: int, metadata: dict[str, Any]) -> None:
        """Sources were weighed."""
        self.resolution_ms = duration_ms
        self.add(
            "ConflictResolver", "resolver", policy=policy, duration_ms=duration_ms, resolved_conflicts=resolved,
            metadata=metadata,
        )  # fmt: skip

    @property
    def resolution(self) -> FlowAction | None:
        """The resolver's action, once it has come."""
        return next((action for action in self._actions if action.type == "resolver"), None)

    def formatter(self, duration_ms: int) -> None:
        """The answer was written."""
        self.add("AnswerFormatter", "formatter", duration_ms=duration_ms)

    def execution_metadata(
        self, outcomes: Sequence[StepOutcome], departments: Sequence[str], *, resolution_applied: bool
    ) -> ExecutionMetadata:
        """The run in numbers (§5)."""
        agents = dict.fromkeys(o.step.step.agent for o in outcomes if o.step.step.agent != ORCHESTRATOR)
        queries = {(o.step.step.agent, index) for o in outcomes for index, _ in o.step.queries}
        optional: dict[str, Any] = {"degraded": self.degraded} if self.degraded else {}
        if self.models.calls:
            optional["model_usage"] = _model_usage(self.models.calls)
        if self.as_of is not None:
            optional["as_of"] = self.as_of.day
        if searches := tuple(plan for o in outcomes if o.result for plan in o.result.searches):
            optional["searches"] = searches
        return ExecutionMetadata(
            total_duration_ms=self.elapsed_ms(), agents_invoked=tuple(agents),
            tools_executed=tuple(dict.fromkeys(o.tool for o in outcomes)),
            total_queries=sum(1 for agent, _ in queries if agent != ORCHESTRATOR),
            conflict_resolution_applied=resolution_applied, department_permission_filtering=True,
            accessible_departments=tuple(departments), **optional,
        )  # fmt: skip

    def performance(self, outcomes: Sequence[StepOutcome], fallback_agents: Sequence[str]) -> PerformanceMetrics:
        """The run's figures (§7)."""
        times: dict[str, int] = {}
        for outcome in outcomes:
            times[outcome.step.step.agent] = times.get(outcome.step.step.agent, 0) + outcome.duration_ms
        return PerformanceMetrics(
            query_processing_time_ms=self.elapsed_ms(), agent_execution_times=times,
            tool_usage_stats=_tool_usage(outcomes), conflict_resolution_time_ms=self.resolution_ms,
            cache_hit_ratio=round(self.caches.hit_ratio, 4),
            content_quality_metrics=content_quality(outcomes, fallback_agents, self._now()),
        )  # fmt: skip


def _tool_usage(outcomes: Sequence[StepOutcome]) -> dict[str, ToolUsage]:
    """By tool: how often it was called, and how long an answer took."""
    spent: dict[str, list[int]] = {}
    for use in (use for outcome in outcomes for use in outcome.calls):
        spent.setdefault(use.tool, []).append(use.duration_ms)
    return {tool: ToolUsage(calls=len(ms), avg_time_ms=round(sum(ms) / len(ms))) for tool, ms in spent.items()}


def _call_metadata(outcome: StepOutcome) -> dict[str, Any]:
    """What a tool did and, where it took more than one, its calls."""
    told: dict[str, Any] = {}
    if outcome.result is not None and outcome.result.trace:
        told["trace"] = list(outcome.result.trace)
    if len(outcome.calls) > 1:
        told["calls"] = [to_json(use) for use in outcome.calls]
    return told


def _model_usage(calls: Sequence[Spent]) -> ModelUsage:
    return ModelUsage(
        calls=len(calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        cost=sum(call.cost_micros for call in calls) / 1_000_000,
        models=tuple(dict.fromkeys(call.model for call in calls)),
    )
