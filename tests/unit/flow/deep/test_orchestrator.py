"""What follows on what: a pure function of the state, and the channel it speaks through."""

import pytest

from app.domain.deep import Asked, Critique, DeepMessage, DeepPlan, Party, Research, Working
from app.flow.deep.orchestrate import Next, delegated, next_stage, stop_cause, visible_to
from app.flow.deep.stages import judged
from app.flow.deep.state import Cause, DeepLimits, DeepState, decided
from app.reasoning import Composition

LIMITS = DeepLimits(max_plan_tries=2, max_research_tries=2, max_expert_tries=2)
PLAN = DeepPlan(question="q", research=("a", "b"), logic=("add",))
BARE = PLAN.model_copy(update={"research": ()})
NEW = DeepState(asked=Asked(question="q", language="en"), said="q")
WORKING = Working(answer="3", text="3", solved=True)


def research(step: int) -> Research:
    return Research(step=step, task=PLAN.research[step - 1], text="found", found=True)


PLANNED = NEW.but(plan=PLAN, plan_tries=1)
READY = PLANNED.but(is_plan_approved=True)
HALF = READY.but(research=(research(1),))
KNOWN = READY.but(research=(research(1), research(2)))
NO = Critique(of="researcher", approved=False, feedback="no", step=1)
YES = Critique(of="researcher", approved=True, step=1)
WORKED = KNOWN.but(working=WORKING, expert_tries=1)
CASES: dict[str, tuple[DeepState, Next]] = {
    "a question": (NEW, "planner"),
    "small talk": (NEW.but(reply=Composition(answer="hi", outcome="chitchat")), "finalizer"),
    "a new plan": (PLANNED.but(under_review="planner"), "critic"),
    "a refused plan": (PLANNED, "planner"),
    "plans refused too often": (PLANNED.but(plan_tries=2), "finalizer"),
    "the last plan is still looked at": (PLANNED.but(plan_tries=2, under_review="planner"), "critic"),
    "an approved plan": (READY, "researcher"),
    "an approved plan without research": (READY.but(plan=BARE), "expert"),
    "a plan a person has to approve": (READY.but(asks_approval=True), "approval"),
    "a plan a person approved": (READY.but(asks_approval=False), "researcher"),
    "new research": (READY.but(draft=research(1), research_tries=1, under_review="researcher"), "critic"),
    "refused research": (READY.but(draft=research(1), research_tries=1), "researcher"),
    "research refused too often": (READY.but(draft=research(1), research_tries=2), "finalizer"),
    "the first research is done": (HALF, "researcher"),
    "all research is done": (KNOWN, "expert"),
    "a new answer": (WORKED.but(under_review="expert"), "critic"),
    "a refused answer": (WORKED, "expert"),
    "answers refused too often": (WORKED.but(expert_tries=2), "finalizer"),
    "an approved answer": (WORKED.but(is_answer_approved=True), "finalizer"),
    "no time": (HALF.but(stopped="deadline"), "finalizer"),
    "no budget while work waits for review": (PLANNED.but(under_review="planner", stopped="budget"), "finalizer"),
    "no time behind an approved answer": (WORKED.but(is_answer_approved=True, stopped="deadline"), "finalizer"),
}
GIVEN_UP: dict[str, Cause] = {
    "plans refused too often": "plan", "research refused too often": "research",
    "answers refused too often": "expert", "no time": "deadline", "no budget while work waits for review": "budget",
}  # fmt: skip


class TestNextStage:
    @pytest.mark.parametrize("case", CASES)
    def test_follows_from_the_state_alone(self, case: str) -> None:
        state, expected = CASES[case]
        assert next_stage(state, LIMITS) == expected
        assert next_stage(DeepState.load(state.dump()), LIMITS) == expected

    @pytest.mark.parametrize("case", CASES)
    def test_a_run_is_given_up_only_where_something_is_used_up(self, case: str) -> None:
        assert stop_cause(CASES[case][0], LIMITS) == GIVEN_UP.get(case)


class TestVerdicts:
    def test_approved_research_makes_room_for_the_next_step(self) -> None:
        state = READY.but(draft=research(1), research_tries=2, under_review="researcher")
        after = judged(state, YES)
        assert after.research == (research(1),)
        assert (after.draft, after.research_tries, after.step, after.under_review) == (None, 0, 2, None)

    def test_refused_work_stays_for_whoever_mends_it(self) -> None:
        state = WORKED.but(under_review="expert")
        after = judged(state, Critique(of="expert", approved=False, feedback="no unit"))
        assert (after.working, after.feedback, after.is_answer_approved) == (WORKING, "no unit", False)

    def test_feedback_is_not_carried_into_other_work(self) -> None:
        refused = judged(
            READY.but(under_review="researcher", draft=research(1)),
            NO,
        )
        approved = judged(refused.but(under_review="researcher"), YES)
        assert approved.feedback == ""


class TestDecisions:
    def test_an_approval_goes_on_with_the_first_step(self) -> None:
        parked = READY.but(asks_approval=True)
        state = DeepState.load(decided(parked.dump(), approved=True))
        assert next_stage(state, LIMITS) == "researcher"

    def test_a_refusal_is_feedback_to_the_planner_with_its_tries_anew(self) -> None:
        parked = READY.but(asks_approval=True, plan_tries=2)
        state = DeepState.load(decided(parked.dump(), approved=False, feedback="use the other file"))
        assert next_stage(state, LIMITS) == "planner"
        assert (state.feedback, state.plan, state.plan_tries) == ("use the other file", PLAN, 0)
        again = state.but(is_plan_approved=True)
        assert next_stage(again, LIMITS) == "approval"

    def test_without_a_plan_there_is_nothing_to_decide(self) -> None:
        with pytest.raises(ValueError, match="no plan"):
            decided(NEW.dump(), approved=True)

    def test_a_state_of_another_version_is_not_gone_on_with(self) -> None:
        with pytest.raises(ValueError, match="version"):
            DeepState.load(NEW.dump() | {"version": 99})


class TestChannel:
    MESSAGES = tuple(
        DeepMessage(sender=sender, receiver=receiver, content=f"{sender}>{receiver}{step}", step=step)
        for sender, receiver, step in (
            ("orchestrator", "planner", 0), ("planner", "orchestrator", 0), ("orchestrator", "critic", 0),
            ("critic", "orchestrator", 0), ("orchestrator", "researcher", 1), ("researcher", "orchestrator", 1),
            ("critic", "orchestrator", 1), ("orchestrator", "researcher", 2), ("researcher", "orchestrator", 2),
            ("orchestrator", "expert", 0), ("expert", "orchestrator", 0), ("orchestrator", "finalizer", 0),
        )
    )  # fmt: skip

    @pytest.mark.parametrize(
        ("party", "step", "seen"),
        [
            ("planner", 0, ["orchestrator>planner0", "planner>orchestrator0"]),
            ("researcher", 1, ["orchestrator>researcher1", "researcher>orchestrator1"]),
            ("researcher", 2, ["orchestrator>researcher2", "researcher>orchestrator2"]),
            ("expert", 0, ["orchestrator>expert0", "expert>orchestrator0"]),
            ("critic", 0, ["orchestrator>critic0", "critic>orchestrator0"]),
            ("critic", 1, ["critic>orchestrator1"]),
        ],
    )
    def test_each_agent_sees_what_concerns_its_work(self, party: Party, step: int, seen: list[str]) -> None:
        assert [one.content for one in visible_to(self.MESSAGES, party, step)] == seen

    def test_a_subgraph_has_its_messages_renewed_before_each_visit(self) -> None:
        first = delegated(READY, "researcher")
        assert [one.content for one in first.talk("researcher:1").messages] == ["a"]
        refused = judged(
            first.but(draft=research(1), under_review="researcher"),
            NO,
        )
        second = delegated(refused, "researcher")
        assert [one.content for one in second.talk("researcher:1").messages] == ["a", "a\nno"]
        approved = judged(second.but(draft=research(1), under_review="researcher"), YES)
        third = delegated(approved, "researcher")
        assert [one.content for one in third.talk("researcher:2").messages] == ["b"]
        assert "researcher:1" not in third.talks
