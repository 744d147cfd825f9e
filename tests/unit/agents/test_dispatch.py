"""Who does a step, and what travels when it is somebody elsewhere."""

from datetime import date
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agents.registry import AgentRegistry
from app.agents.remote import pack_order, pack_outcome, unpack_order, unpack_outcome
from app.agents.run import Dispatch, StepRunner
from app.agents.spec import AgentSpec
from app.agents.step import StepOrder, StepOutcome, unanswered
from app.domain.answer import ToolTrace
from app.domain.plan import ORCHESTRATOR, PlannedStep, Step
from app.domain.tasks import HandedStep, PrivateContext, Task
from app.reasoning.budget import Account, Ledger, Spent, charged_to
from app.tasks.run import TaskRun
from app.telemetry import CacheUse, counting_cache_use
from app.tools.base import ToolResult
from tests.factories import NOW, finding, passage, principal, stable_id


def spec(name: str, **changes: Any) -> AgentSpec:
    return AgentSpec.model_validate(
        {"name": name, "description": name, "tools": ["rag_tool"], "exemplars": ["text"], **changes}
    )


def task(name: str) -> Task:
    values: dict[str, Any] = {
        **dict.fromkeys(Task.model_fields), "task_id": stable_id(name), "root_task_id": stable_id("root"),
        "session_id": stable_id("session"), "kind": "step", "title": "", "description": "", "status": "in_progress",
        "request": {}, "metadata": {}, "attempt": 1, "parked_attempt": 0, "created_at": NOW, "updated_at": NOW,
    }  # fmt: skip
    return Task.model_validate(values)


def order(agent: str = "hr", seconds: float = 10, **changes: Any) -> StepOrder:
    run = TaskRun(principal(), task("root"), 1, cast(Any, None))
    planned = PlannedStep(
        number=1, tier=1, step=Step(agent=agent, tool="rag_tool", message="m"), queries=((1, "q"),), node_id="n"
    )
    values: dict[str, Any] = {
        "run": run, "task_id": stable_id("step"), "step": planned, "departments": (agent,), "findings": (),
        "instructions": "", "files": (), "time_zone": "Asia/Ho_Chi_Minh", "now": NOW, "timeout_seconds": seconds,
        "deadline_binds": False, "max_retries": 2,
    }  # fmt: skip
    return StepOrder(**(values | changes))


class Doer:
    """Does steps, and remembers whose."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def run(self, one: StepOrder) -> StepOutcome:
        self.done.append(one.step.step.agent)
        return unanswered(one, NOW, NOW)


def dispatch(local: Doer, remote: Doer, *specs: AgentSpec) -> Dispatch:
    agents = AgentRegistry({one.name: one for one in specs})
    return Dispatch(agents, cast(StepRunner, local), remote.run)


class TestDispatch:
    async def test_follows_the_agents_file(self) -> None:
        here, there = Doer(), Doer()
        steps = dispatch(here, there, spec("hr", remote=True), spec("it"))
        for agent in ("hr", "it", ORCHESTRATOR):
            await steps.run(order(agent))
        assert (here.done, there.done) == (["it", ORCHESTRATOR], ["hr"])


def claimed(text: str, seconds_left: float) -> HandedStep:
    context = PrivateContext(message="m", queries=(), refined_query="", language="vi", as_of=date(2026, 1, 1))
    return HandedStep(
        attempt=1, instruction="", context=context, task=task("step"), order=text, seconds_left=seconds_left,
        root_attempt=1,
    )  # fmt: skip


def sent(one: StepOrder, seconds_left: float = 10) -> StepOrder:
    """An order as it arrives elsewhere."""
    run = TaskRun(principal(), task("step"), 1, cast(Any, None))
    return unpack_order(claimed(pack_order(one), seconds_left), run)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


class TestOrders:
    @given(texts, texts)
    def test_arrive_as_they_were_sent(self, message: str, quote: str) -> None:
        found = finding(passage(f"x{quote}"))
        planned = order().step.model_copy(update={"step": Step(agent="hr", tool="rag_tool", message=message)})
        one = order(findings=(found,), files=(stable_id("f"),), instructions=message, step=planned, deadline_binds=True)
        got = sent(one)
        for name in (
            "findings",
            "files",
            "instructions",
            "step",
            "departments",
            "now",
            "deadline_binds",
            "max_retries",
        ):
            assert getattr(got, name) == getattr(one, name)

    def test_arrive_without_what_cannot_be_stored(self) -> None:
        assert sent(order(instructions="a\0b\ud800c")).instructions == "ab?c"

    def test_leave_time_for_the_way_back(self) -> None:
        assert sent(order(), 10).timeout_seconds == 9.0
        assert sent(order(), 1).timeout_seconds == pytest.approx(0.9)
        assert sent(order(), 60).timeout_seconds == 59.0

    def test_say_nothing_of_the_asker(self) -> None:
        text = pack_order(order())
        assert str(principal().user_id) not in text and str(principal().tenant_id) not in text

    @pytest.mark.parametrize("text", ["", "{}", "[]", '{"step": 1}'])
    def test_of_another_shape_are_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="validation error"):
            unpack_order(claimed(text, 10), cast(Any, order().run))


SPENT = Spent("hr", "answer", "m", "done", 10, 5, 3, 20)


def account(**changes: Any) -> Account:
    return Account(principal(), stable_id("root"), 100.0, Ledger(), **changes)


class TestOutcomes:
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcz", max_size=5), inner, max_size=3),
            max_leaves=8,
        )
    )
    def test_arrive_as_they_were(self, value: Any) -> None:
        """Also the order of keys and every digit."""
        one = unanswered(order(), NOW, NOW)
        result = ToolResult(text="Có 12 ngày", findings=(finding(passage("12 ngày phép")),), value=value, trace=("t",))
        call = ToolTrace(tool="rag_tool", status="ok", duration_ms=3, input_hash="a", output_hash="b")
        changes = {"result": result, "error": None, "calls": (call,), "rejections": ("no",)}
        outcome = StepOutcome(**{**vars(one), **changes})
        got = unpack_outcome(pack_outcome(outcome, account(), CacheUse()))
        assert got == outcome
        assert got.result is not None and repr(got.result.value) == repr(value)
        assert got.result.model_fields_set == result.model_fields_set

    def test_are_counted_to_the_run(self) -> None:
        used = account()
        used.doings.calls.append(SPENT)
        used.doings.downgrade("answer: timeout, answered by rules")
        text = pack_outcome(unanswered(order(), NOW, NOW), used, CacheUse(lookups=3, hits=2, outages=1))
        with counting_cache_use() as caches, charged_to(account()) as run:
            unpack_outcome(text)
        assert run.doings.calls == [SPENT]
        assert run.doings.downgrades == ["answer: timeout, answered by rules"]
        assert (caches.lookups, caches.hits, caches.outages) == (3, 2, 1)
