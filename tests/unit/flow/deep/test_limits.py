"""How a run ends that does not get through: tries, tool calls, time, budget; and the way that needs no research."""

import asyncio
import time

import pytest

from app.agents.step import StepError
from app.domain.deep import Critique, DeepPlan, Report, Reviewed, Working
from app.domain.tasks import ChatRequest
from app.errors import AppError, ErrorCode
from app.events import FinalReport, TaskFailed
from app.flow.deep.state import DeepLimits
from app.flow.state import FlowLimits
from app.reasoning.budget import LimitReached
from app.reasoning.deep import ActRequest, CritiqueRequest, DecomposeRequest, Found, Solved, TellRequest, ToolWish
from tests.fakes.deep_mind import ScriptedDeepMind, approving, refusing
from tests.unit.flow.deep.house import House, Steps

LIMITS = DeepLimits(max_plan_tries=2, max_research_tries=3, max_expert_tries=2)


def without_research(request: DecomposeRequest) -> DeepPlan:
    return DeepPlan(question=request.asked.question, logic=("add both",))


class TestBypass:
    async def test_a_plan_without_research_goes_to_the_expert(self) -> None:
        house = House(mind=ScriptedDeepMind(planner=without_research, critic=approving))
        await house.attempt()
        assert house.nodes[2:] == [
            "planner",
            "critic:planner",
            "expert",
            "critic:expert",
            "finalizer",
        ]
        assert house.node_ids == ["expert#math:1"]
        assert list(house.plans[0]["agents"]) == ["expert"]


class TestTries:
    @pytest.mark.parametrize(
        ("stage", "visits", "name"),
        [("planner", 2, "planner"), ("researcher", 3, "researcher:1"), ("expert", 2, "expert")],
    )
    async def test_used_up_end_in_an_honest_answer(self, stage: Reviewed, visits: int, name: str) -> None:
        house = House(mind=ScriptedDeepMind(critic=refusing(stage)), limits=LIMITS)
        await house.attempt()
        assert house.answer["outcome"] == "not_found"
        assert house.answer["answer"].startswith("No answer: ")
        assert (house.answer["evidence"], house.answer["confidence_score"]) == ([], 0.0)
        assert house.nodes.count(name) == visits
        assert house.nodes.count(f"critic:{name}") == visits
        assert house.nodes[-1] == "finalizer"
        last = house.answer["flow_action"][-1]
        assert last["metadata"]["cause"] == {"planner": "plan", "researcher": "research", "expert": "expert"}[stage]
        assert "planner" not in house.answer["execution_metadata"].get("degraded", ())

    async def test_a_finalizer_that_claims_success_is_not_believed(self) -> None:
        def proud(request: TellRequest) -> Report:
            return Report(answer="42", reasoning="", solved=True)

        house = House(mind=ScriptedDeepMind(critic=refusing("expert"), finalizer=proud), limits=LIMITS)
        await house.attempt()
        assert house.answer["outcome"] == "not_found"

    async def test_a_solution_nobody_found_is_no_answer(self) -> None:
        def lost(request: ActRequest) -> Found | Solved:
            if request.role == "researcher":
                return Found(text="", found=False)
            return Solved(working=Working(answer="", text="unknown", solved=False))

        def honest(request: TellRequest) -> Report:
            assert request.working is not None
            return Report(answer="unknown", reasoning="", solved=request.working.solved)

        house = House(mind=ScriptedDeepMind(actor=lost, critic=approving, finalizer=honest))
        await house.attempt()
        assert house.answer["outcome"] == "not_found"


class TestToolCalls:
    async def test_are_counted_for_each_visit_and_end_the_work(self) -> None:
        def restless(request: ActRequest) -> ToolWish:
            return ToolWish(tool="rag_tool" if request.role == "researcher" else "math_tool", query="more")

        house = House(mind=ScriptedDeepMind(actor=restless, critic=approving), limits=DeepLimits(max_tool_calls=2))
        await house.attempt()
        assert house.node_ids == ["researcher#rag:1", "researcher#rag:2", "expert#math:1", "expert#math:2"]
        lefts = [request.calls_left for request in house.mind.acts]
        assert lefts == [2, 1, 0] * 2
        assert not house.mind.critiques[1].research.found  # type: ignore[union-attr]

    async def test_work_that_was_sent_back_has_its_calls_anew(self) -> None:
        house = House(limits=DeepLimits(max_tool_calls=1))
        await house.attempt()
        assert house.node_ids[:3] == ["researcher#rag:1", "researcher#rag:2", "researcher#rag:3"]
        assert house.answer["outcome"] == "answered"

    async def test_a_tool_that_fails_is_seen_and_the_run_goes_on(self) -> None:
        house = House(
            mind=ScriptedDeepMind(critic=approving), steps=Steps(lambda _: StepError("tool_failed", "It is away"))
        )
        await house.attempt()
        seen = [one for request in house.mind.acts for one in request.observations]
        assert seen
        assert all(one.failed and one.text == "It is away" for one in seen)
        assert {one["status"] for one in house.answer["flow_action"] if one["type"] == "agent_tool"} == {"failed"}

    async def test_a_plan_has_no_more_research_steps_than_allowed(self) -> None:
        def long(request: DecomposeRequest) -> DeepPlan:
            return DeepPlan(question="q", research=tuple(map(str, range(50))), logic=("add",))

        house = House(mind=ScriptedDeepMind(planner=long, critic=approving), limits=DeepLimits(max_research_steps=2))
        await house.attempt()
        assert house.mind.plans[0].max_research_steps == 2
        assert len(house.mind.tells[0].research) == 2


def hanging_at(stage: str) -> ScriptedDeepMind:
    """A mind that thinks for ever at one stage."""

    class Slow(ScriptedDeepMind):
        async def decompose(self, request: DecomposeRequest) -> DeepPlan:
            await self._wait("planner")
            return await super().decompose(request)

        async def next_action(self, request: ActRequest) -> Found | Solved | ToolWish:
            await self._wait(request.role)
            return await super().next_action(request)

        async def criticise(self, request: CritiqueRequest) -> Critique:
            await self._wait("critic")
            return await super().criticise(request)

        async def tell(self, request: TellRequest) -> Report:
            await self._wait("finalizer")
            return await super().tell(request)

        async def _wait(self, at: str) -> None:
            if at == stage:
                await asyncio.sleep(60)

    return Slow()


@pytest.mark.slow
class TestDeadline:
    @pytest.mark.parametrize("stage", ["planner", "critic", "researcher", "expert"])
    async def test_leaves_the_finalizer_time_to_speak(self, stage: str) -> None:
        house = House(mind=hanging_at(stage), flow_limits=FlowLimits(task_deadline_ms=1_000))
        clock = time.perf_counter()
        await house.attempt()
        assert time.perf_counter() - clock < 20
        assert isinstance(house.events[-1], TaskFailed)
        assert house.answer["error_code"] == "RUN_DEADLINE_EXCEEDED"
        assert house.answer["fallback_answer"].startswith("No answer: the time")
        assert len(house.mind.tells) == 1
        assert house.nodes[-2:] == ["finalizer", "ErrorHandler"]

    async def test_a_finalizer_that_hangs_is_spoken_for(self) -> None:
        house = House(mind=hanging_at("finalizer"), flow_limits=FlowLimits(task_deadline_ms=1_000))
        await house.attempt()
        assert isinstance(house.events[-1], FinalReport)
        assert house.answer["answer"] == "2 facts, 2 sums"
        assert house.answer["execution_metadata"]["degraded"] == ["finalizer: told without a mind"]

    async def test_a_run_that_begins_too_late_says_so(self) -> None:
        house = House(flow_limits=FlowLimits(task_deadline_ms=1))
        await house.attempt()
        assert house.answer["error_code"] == "RUN_DEADLINE_EXCEEDED"
        assert house.steps.orders == []


class TestBudget:
    async def test_used_up_ends_in_the_finalizer_with_what_was_tried(self) -> None:
        def broke(request: ActRequest) -> Found:
            raise LimitReached("run_tokens")

        house = House(mind=ScriptedDeepMind(actor=broke))
        await house.attempt()
        assert house.answer["error_code"] == "BUDGET_EXHAUSTED"
        assert "budget" in house.answer["fallback_answer"]
        stopped = next(one for one in house.answer["flow_action"] if one["type"] == "researcher")
        assert (stopped["status"], stopped["metadata"]) == ("failed", {"stopped": "budget"})

    async def test_none_left_for_the_finalizer_either(self) -> None:
        def broke(_: object) -> Report:
            raise LimitReached("run_tokens")

        house = House(mind=ScriptedDeepMind(finalizer=broke))
        await house.attempt()
        assert house.answer["outcome"] == "answered"
        assert house.answer["answer"] == "2 facts, 2 sums"


class TestFailures:
    async def test_a_refusal_inside_ends_the_run_with_its_code(self) -> None:
        def refused(_: object) -> DeepPlan:
            raise AppError(ErrorCode.PLAN_INVALID, "No.", status=500)

        house = House(mind=ScriptedDeepMind(planner=refused))
        await house.attempt()
        assert house.answer["error_code"] == "PLAN_INVALID"

    async def test_a_database_that_is_away_leaves_the_run_to_its_next_attempt(self) -> None:
        def away(_: object) -> DeepPlan:
            raise AppError(ErrorCode.DATABASE_UNAVAILABLE, "Away.", status=503)

        house = House(mind=ScriptedDeepMind(planner=away))
        with pytest.raises(AppError, match="Away"):
            await house.attempt()
        assert not any(isinstance(one, TaskFailed | FinalReport) for one in house.events)


class TestAddresses:
    async def test_a_plan_may_send_for_the_page_that_was_named_and_for_no_other(self) -> None:
        page, other = "http://127.0.0.1:8123/rules/2026?v=2", "http://127.0.0.1:8123/other"

        def planned(request: DecomposeRequest) -> DeepPlan:
            return DeepPlan(
                question=request.asked.question, research=(f"read {page}.", f"read {other}"), logic=("tell",)
            )

        house = House(
            mind=ScriptedDeepMind(planner=planned, critic=approving),
            request=ChatRequest(query=f"What does {page} say of rest days?", mode="deep"),
        )
        await house.attempt()
        steps = house.answer["flow_action"]
        [made] = [one["metadata"]["research"] for one in steps if one["node_id"] == "planner"]
        assert made == [f"read {page}.", "read [link removed]"]
