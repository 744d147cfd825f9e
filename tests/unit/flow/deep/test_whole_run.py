"""A whole run with the scripted mind: one rejection at each stage, and what is told of it."""

from app.events import (
    EndProcess,
    FinalReport,
    PlanReady,
    Progress,
    RenavigateRequest,
    StartProcess,
    TextDelta,
    VerificationDone,
)
from tests.fakes.deep_mind import REJECTED
from tests.unit.flow.deep.house import QUESTION, House


async def finished() -> House:
    house = House()
    await house.attempt()
    return house


class TestOneRejectionAtEachStage:
    async def test_ends_in_the_answer(self) -> None:
        house = await finished()
        assert house.answer["outcome"] == "answered"
        assert house.answer["answer"] == "2 facts, 2 sums"
        assert house.answer["confidence_score"] == 0.9
        assert isinstance(house.events[-1], FinalReport)

    async def test_every_visit_stands_in_the_trace(self) -> None:
        house = await finished()
        assert house.nodes == [
            "Router", "PermissionCheck",
            "planner", "critic:planner", "planner", "critic:planner",
            "researcher:1", "critic:researcher:1", "researcher:1", "critic:researcher:1",
            "researcher:2", "critic:researcher:2",
            "expert", "critic:expert", "expert", "critic:expert",
            "finalizer",
        ]  # fmt: skip

    async def test_the_orchestrator_stands_before_every_stage_with_what_it_decided(self) -> None:
        house = await finished()
        actions = [one for one in house.answer["flow_action"] if one["type"] != "agent_tool"][2:]
        for decision, visit in zip(actions[::2], actions[1::2], strict=True):
            assert decision["type"] == "orchestrator"
            assert decision["metadata"]["next"] == visit["type"]
        assert [one["order"] for one in house.answer["flow_action"]] == list(
            range(1, len(house.answer["flow_action"]) + 1)
        )

    async def test_rejections_stand_in_the_trace_with_their_reason(self) -> None:
        house = await finished()
        refused = [
            (one["metadata"]["of"], one["metadata"]["feedback"])
            for one in house.answer["flow_action"]
            if one["type"] == "critic" and not one["metadata"]["approved"]
        ]
        assert refused == list(REJECTED.items())
        reasons = [event.reason for event in house.events if isinstance(event, RenavigateRequest)]
        assert reasons == list(REJECTED.values())
        told = [event.node_id for event in house.events if isinstance(event, VerificationDone)]
        assert told == ["planner", "researcher:1", "researcher:2", "expert"]

    async def test_tool_calls_are_steps_with_ids_of_their_own(self) -> None:
        house = await finished()
        assert house.node_ids == [
            "researcher#rag:1",
            "researcher#rag:2",
            "researcher#rag:3",
            "expert#math:1",
            "expert#math:2",
        ]
        assert len({task.task_id for task in house.registry.rows}) == 5
        assert [task.assignee_agent_id for task in house.registry.rows] == ["researcher"] * 3 + ["expert"] * 2
        assert all(task.kind == "step" and task.parent_task_id == house.task_id for task in house.registry.rows)

    async def test_feedback_and_earlier_work_reach_whoever_mends_it(self) -> None:
        house = await finished()
        assert [one.feedback for one in house.mind.plans] == ["", REJECTED["planner"]]
        assert house.mind.plans[1].previous is not None
        mending = [one for one in house.mind.acts if one.feedback]
        assert {one.role for one in mending} == {"researcher", "expert"}
        assert all(one.previous is not None for one in mending)
        assert {one.step for one in mending if one.role == "researcher"} == {1}

    async def test_every_stage_is_a_lane_that_begins_and_ends(self) -> None:
        house = await finished()
        speaking: str | None = None
        for event in house.events:
            if isinstance(event, StartProcess):
                assert speaking is None
                speaking = event.agent
            elif isinstance(event, EndProcess):
                assert speaking == event.agent
                speaking = None
        assert speaking is None
        lanes = {event.agent for event in house.events if isinstance(event, StartProcess)}
        assert lanes == {"planner", "researcher", "critic", "expert", "finalizer"}

    async def test_the_plan_is_told_once_in_the_seeds_form_when_it_stands(self) -> None:
        house = await finished()
        [plan] = house.plans
        assert list(plan["agents"]) == ["researcher", "expert"]
        assert plan["agents"]["researcher"]["queries"] == [{"1": "first fact"}, {"2": "second fact"}]
        [tiers] = plan["execution_flow"]["planning"]["tasks"]
        assert [[step["agent"] for step in tier] for tier in tiers.values()] == [
            ["researcher"],
            ["researcher"],
            ["expert"],
        ]
        first_step = next(index for index, one in enumerate(house.events) if one.type == "progress")
        assert isinstance(house.events[first_step - 1], PlanReady)
        assert house.registry.saved == [plan]
        statuses = [
            step["status"]
            for tier in house.registry.ended[0]["plan"]["execution_flow"]["planning"]["tasks"][0].values()
            for step in tier
        ]
        assert statuses == ["completed"] * 3

    async def test_progress_never_falls_and_ends_at_95(self) -> None:
        house = await finished()
        told = [event.output["progress_percentage"] for event in house.events if isinstance(event, Progress)]
        assert told == sorted(told)
        assert (told[0], told[-1]) == (75, 95)

    async def test_the_answer_is_streamed_by_the_finalizer(self) -> None:
        house = await finished()
        deltas = [event for event in house.events if isinstance(event, TextDelta)]
        assert "".join(delta.text for delta in deltas) == house.answer["answer"]
        assert {delta.agent for delta in deltas} == {"finalizer"}

    async def test_the_answer_cites_what_it_rests_on(self) -> None:
        house = await finished()
        urls = [one["url"] for one in house.answer["evidence"]]
        assert len(urls) == len(set(urls)) == 4
        assert "math:1" in urls
        metadata = house.answer["execution_metadata"]
        assert metadata["agents_invoked"] == ["researcher", "expert"]
        assert metadata["tools_executed"] == ["rag_tool", "math_tool"]
        assert metadata["total_queries"] == 5

    async def test_the_finalizer_hears_every_verdict(self) -> None:
        house = await finished()
        [told] = house.mind.tells
        assert [(one.of, one.approved) for one in told.critiques] == [
            ("planner", False), ("planner", True), ("researcher", False), ("researcher", True), ("researcher", True),
            ("expert", False), ("expert", True),
        ]  # fmt: skip
        assert told.failure == ""
        assert told.asked.question == QUESTION


class TestSmallTalk:
    async def test_is_answered_without_any_stage(self) -> None:
        house = House()
        house.reasoner.kind = "chitchat"
        await house.attempt()
        assert house.answer["outcome"] == "chitchat"
        assert house.answer["answer"] == "Hello!"
        assert house.nodes == ["Router", "PermissionCheck", "finalizer"]
        assert house.mind.plans == []
