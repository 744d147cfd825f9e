from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from langgraph.runtime import Runtime

from app.domain.plan import AgentPlan, ExecutionFlow, Plan, Planning, Step
from app.domain.tasks import ChatRequest
from app.errors import AppError, ErrorCode
from app.flow.graph import DepartmentFlow
from app.flow.planning import checked, plan_directly, reflect
from app.flow.state import Asking, FlowLimits, Ports, RunContext
from app.reasoning import AgentOffer, Classification, PlanRequest, Review
from app.reasoning.budget import Ledger
from app.storage.tenants import Own
from tests import factories

HR = AgentOffer(name="hr", description="", tools={"rag_tool": ""}, exemplars=(), departments=("hr",))
IT = AgentOffer(name="it", description="", tools={"rag_tool": ""}, exemplars=(), departments=("it",))


def planned(agent: str, tool: str) -> Plan:
    flow = ExecutionFlow(
        planning=Planning(tiers=((Step(agent=agent, tool=tool, message="x"),),)), conflict_resolution=""
    )
    return Plan(
        original_query="x", refined_query="x", agents={agent: AgentPlan(queries=("x",), tools=(tool,))},
        execution_flow=flow,
    )  # fmt: skip


class TestChecked:
    def test_what_is_on_offer_may_be_planned_and_the_leaders_own_summary(self) -> None:
        for agent, tool in (("hr", "rag_tool"), ("orchestrator", "summary_tool")):
            assert checked(planned(agent, tool), (HR,)) == planned(agent, tool)

    @pytest.mark.parametrize(("agent", "tool"), [("it", "rag_tool"), ("hr", "log_tool"), ("orchestrator", "rag_tool")])
    def test_an_agent_or_a_tool_that_is_not_on_offer_is_refused(self, agent: str, tool: str) -> None:
        with pytest.raises(AppError) as refused:
            checked(planned(agent, tool), (HR,))
        assert refused.value.code is ErrorCode.PLAN_INVALID


class Mind:
    """Plans what it was told to, one plan after another, and approves of all of it."""

    def __init__(self, plans: Sequence[Plan], kind: str, *, follows_up: bool):
        self.plans = [*plans]
        self.found = Classification.model_validate(
            {
                "kind": kind, "language": "vi", "refined_query": "x", "sub_queries": ("x",), "confidence": 1,
                "is_follow_up": follows_up,
            }
        )  # fmt: skip

    async def classify(self, *_: Any, **__: Any) -> Classification:
        return self.found

    async def plan(self, _request: PlanRequest) -> Plan:
        return self.plans.pop(0)

    async def review_plan(self, *_: Any) -> Review:
        return Review(approved=True)


class Ground:
    """Finds nothing anywhere."""

    async def probe(self, _principal: object, asked: Sequence[str], **_: Any) -> list[dict[str, float]]:
        return [{} for _ in asked]


class Clock:
    async def own(self, _principal: object) -> Own:
        return Own("UTC")


class Offices:
    def offers_for(self, *_: Any) -> tuple[AgentOffer, ...]:
        return HR, IT


LIMITS = FlowLimits()


def ports_of(mind: Mind) -> Ports:
    stands_for: Any = SimpleNamespace(
        reasoner=mind, retriever=Ground(), clock=Clock(), agents=Offices(), now=lambda: factories.NOW, ledger=Ledger()
    )
    return cast(Ports, stands_for)


def asked_by(active_agent: str | None) -> Asking:
    return Asking(
        factories.principal(), ChatRequest(query="x"), (), factories.NOW.date(), "UTC", active_agent=active_agent
    )


async def reflected(mind: Mind) -> None:
    context: Any = SimpleNamespace(ports=ports_of(mind), limits=LIMITS, asking=asked_by(None))
    state: Any = {"offers": (HR, IT), "classification": mind.found}
    await reflect(state, Runtime(context=cast(RunContext, context)))


async def planned_directly(mind: Mind) -> None:
    await plan_directly(ports_of(mind), LIMITS, asked_by("hr"), mind.found, (HR, IT))


async def drafted(mind: Mind) -> None:
    await DepartmentFlow(ports_of(mind), LIMITS).dry_run(factories.principal(), ChatRequest(query="x"))


class TestPlanning:
    """A mind that was talked into another plan gets nowhere, whichever way a plan is made."""

    @pytest.mark.parametrize(
        ("way", "kind", "follows_up", "before"),
        [
            (reflected, "task", False, ()),
            (planned_directly, "simple", False, ()),
            (planned_directly, "simple", True, (("hr", "rag_tool"),)),
            (drafted, "simple", False, ()),
            (drafted, "task", False, ()),
        ],
        ids=["reflection", "direct", "follow-up", "draft of a simple question", "draft of a task"],
    )
    async def test_refuses_what_is_not_on_offer(
        self,
        way: Callable[[Mind], Awaitable[None]],
        kind: str,
        follows_up: bool,
        before: Sequence[tuple[str, str]],
    ) -> None:
        good = [planned(*one) for one in before]
        # A follow-up goes to one agent alone: there another one that the caller may use is off offer too.
        forbidden = ("it", "rag_tool") if follows_up else ("hr", "log_tool")
        await way(Mind([*good, planned("hr", "rag_tool")], kind, follows_up=follows_up))
        with pytest.raises(AppError) as refused:
            await way(Mind([*good, planned(*forbidden)], kind, follows_up=follows_up))
        assert refused.value.code is ErrorCode.PLAN_INVALID
