import pytest

from app.domain.plan import AgentPlan, ExecutionFlow, Plan, Planning, Step
from app.errors import AppError, ErrorCode
from app.flow.planning import checked
from app.reasoning import AgentOffer

HR = AgentOffer(name="hr", description="", tools={"rag_tool": ""}, exemplars=(), departments=("hr",))


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
