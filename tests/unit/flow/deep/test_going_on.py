"""A run that was cut anywhere and gone on with is the run that was never cut; and a run that waits for a person."""

import json
from typing import Any

import pytest

from app.domain.deep import DeepPlan
from app.domain.tasks import ChatRequest
from app.errors import StaleAttempt
from app.events import FinalReport, TaskFailed
from app.flow.deep.state import DeepState, decided
from app.tasks.run import TaskRun
from tests.fakes.deep_mind import ScriptedDeepMind, approving
from tests.unit.flow.deep.house import QUESTION, Cut, CuttingCheckpoints, House


async def whole() -> House:
    house = House()
    await house.attempt()
    return house


def told(house: House) -> dict[str, Any]:
    """The answer without what only the clock says."""
    answer = json.loads(json.dumps(house.answer))
    answer["execution_metadata"].pop("total_duration_ms")
    answer.pop("task_id")
    answer.pop("session_id")
    return answer  # type: ignore[no-any-return]


def queries(house: House) -> list[tuple[str, str]]:
    return [(order.step.node_id, order.step.queries[0][1]) for order in house.steps.orders]


class TestGoingOn:
    async def test_from_every_kept_state_gives_the_same_answer_and_repeats_no_finished_step(self) -> None:
        uncut = await whole()
        kept = len(uncut.checkpoints.states)
        assert kept == 15 + len(uncut.steps.orders)
        for cut_after in range(1, kept + 1):
            house = House()
            house.checkpoints.cut_after = cut_after
            with pytest.raises(Cut):
                await house.attempt(1)
            house.checkpoints.cut_after = None
            await house.attempt(2)
            assert told(house) == told(uncut), cut_after
            assert queries(house) == queries(uncut), cut_after
            assert len({task.task_id for task in house.registry.rows}) == len(house.registry.rows)

    async def test_through_a_death_at_every_state_in_a_row(self) -> None:
        uncut, house = await whole(), House()
        for attempt in range(1, 60):
            house.checkpoints.cut_after = len(house.checkpoints.states) + 2
            try:
                await house.attempt(attempt)
            except Cut:
                continue
            break
        assert told(house) == told(uncut)
        assert queries(house) == queries(uncut)

    async def test_the_minds_are_not_asked_again_about_what_is_settled(self) -> None:
        house = House()
        house.checkpoints.cut_after = 9
        with pytest.raises(Cut):
            await house.attempt(1)
        asked = (len(house.mind.plans), len(house.mind.critiques))
        house.checkpoints.cut_after = None
        await house.attempt(2)
        uncut = await whole()
        assert asked[0] == len(house.mind.plans) == len(uncut.mind.plans)
        assert len(house.mind.critiques) == len(uncut.mind.critiques)

    async def test_a_first_attempt_never_looks_for_a_state(self) -> None:
        class Unasked(CuttingCheckpoints):
            async def last(self, run: TaskRun) -> dict[str, Any] | None:
                raise AssertionError("nobody ran before")

        house = House(checkpoints=Unasked())
        await house.attempt(1)
        assert house.answer["outcome"] == "answered"

    async def test_a_state_of_another_version_begins_anew(self) -> None:
        house = House()
        house.checkpoints.cut_after = 8
        with pytest.raises(Cut):
            await house.attempt(1)
        last = house.checkpoints.states[-1] | {"version": 0}
        house.checkpoints.cut_after = None
        house.checkpoints.put(house.task_id, last)
        await house.attempt(2)
        assert house.answer["outcome"] == "answered"

    async def test_a_run_that_was_lost_stops(self) -> None:
        class Lost(CuttingCheckpoints):
            async def store(self, run: TaskRun, state: dict[str, Any]) -> None:
                raise StaleAttempt("another attempt has it")

        house = House(checkpoints=Lost())
        with pytest.raises(StaleAttempt):
            await house.attempt(1)
        assert house.mind.plans == []

    async def test_every_kept_state_is_the_same_when_it_is_read_back(self) -> None:
        house = await whole()
        for state in house.checkpoints.states:
            assert DeepState.load(json.loads(json.dumps(state))).dump() == state


def waiting() -> House:
    request = ChatRequest(query=QUESTION, mode="deep", approve_plan=True)
    return House(request=request, mind=ScriptedDeepMind(critic=approving))


class TestApproval:
    async def test_parks_the_run_without_an_end(self) -> None:
        house = waiting()
        writer = await house.attempt(1)
        assert not writer.has_ended
        assert not any(isinstance(one, FinalReport | TaskFailed) for one in house.events)
        assert house.checkpoints.parked[house.task_id] == house.plans[-1]
        assert house.steps.orders == []

    async def test_an_approved_plan_runs(self) -> None:
        house = waiting()
        await house.attempt(1)
        state = await house.checkpoints.last_of(house.task_id)
        house.checkpoints.put(house.task_id, decided(state, approved=True))
        await house.attempt(2)
        assert house.answer["outcome"] == "answered"
        assert len(house.mind.plans) == 1
        assert len(house.plans) == 1

    async def test_without_a_decision_it_goes_on_waiting(self) -> None:
        house = waiting()
        await house.attempt(1)
        await house.attempt(2)
        assert len(house.mind.plans) == 1
        assert house.steps.orders == []

    async def test_a_refused_plan_is_made_anew_with_the_feedback_and_asked_about_again(self) -> None:
        house = waiting()
        house.mind.planner = lambda request: DeepPlan(question="q", research=(request.feedback or "old",), logic=("l",))
        await house.attempt(1)
        state = await house.checkpoints.last_of(house.task_id)
        house.checkpoints.put(house.task_id, decided(state, approved=False, feedback="look into the handbook"))
        await house.attempt(2)
        assert house.steps.orders == []
        assert house.plans[-1]["agents"]["researcher"]["queries"] == [{"1": "look into the handbook"}]
        assert house.checkpoints.parked[house.task_id] == house.plans[-1]
        state = await house.checkpoints.last_of(house.task_id)
        house.checkpoints.put(house.task_id, decided(state, approved=True))
        await house.attempt(3)
        assert house.answer["outcome"] == "answered"
        assert house.steps.orders[0].step.queries[0][1].startswith("look into the handbook")
