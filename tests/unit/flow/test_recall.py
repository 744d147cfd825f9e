from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.agents.step import StepError, StepOutcome
from app.domain.answer import Outcome, to_json
from app.domain.knowledge import SearchPlan
from app.domain.plan import PlannedStep, Step
from app.domain.tasks import ChatRequest
from app.flow.answer_cache import CachedAnswer, cache_answer
from app.flow.state import Asking, FlowLimits, RunContext, RunState
from app.flow.trace import Trace
from app.reasoning import Classification, Composition
from app.reasoning.budget import Doings, Spent
from app.telemetry import CacheUse
from app.tools.base import ToolResult
from tests import factories
from tests.unit.flow.test_remembered import ONE, TODAY, memory

SEARCH = SearchPlan(
    strategy="exact", embedding_model="e5", legs={"vector": 1.0}, unaccented=False, candidates=3, duration_ms=1.0
)


def outcome(tool: str = "rag_tool", planned: str = "rag_tool", *, ok: bool = True, **search: Any) -> StepOutcome:
    """A step of the hr agent that ended."""
    step = PlannedStep(
        number=1, tier=1, step=Step(agent="hr", tool=planned, message="m"), queries=((1, "q"),), node_id="hr#rag"
    )
    result = ToolResult(
        text="t", findings=(factories.finding(factories.passage("t")),), searches=(SEARCH.model_copy(update=search),)
    )
    return StepOutcome(
        step=step, tool=tool, started_at=factories.NOW, ended_at=factories.NOW, duration_ms=1, input_hash="i",
        output_hash="o", result=result if ok else None, error=None if ok else StepError("timeout", "Tool timeout"),
    )  # fmt: skip


def is_kept(*outcomes: StepOutcome, said: Outcome = "answered", degraded: str = "", outages: int = 0) -> bool:
    """Whether the answer of a run with these steps is there afterwards."""
    models = Doings(downgrades=[degraded] if degraded else [])
    return remembered(models, *outcomes, said=said, outages=outages) is not None


def remembered(
    models: Doings, *outcomes: StepOutcome, said: Outcome = "answered", outages: int = 0
) -> CachedAnswer | None:
    """What is remembered of a run with these steps."""
    trace = Trace(lambda: datetime(2026, 11, 21, tzinfo=UTC), CacheUse(outages=outages), models)
    context = SimpleNamespace(
        asking=Asking(factories.principal(), ChatRequest(query="q"), (), TODAY),
        limits=FlowLimits(),
        memory=memory(),
        trace=trace,
        outcomes=list(outcomes),
        ports=SimpleNamespace(agents=SimpleNamespace(names=())),
    )
    found = Classification(kind="simple", language="vi", refined_query="q", sub_queries=("q",), confidence=1.0)
    state: RunState = {"answer_key": ONE, "classification": found}
    composition = Composition(answer="a", outcome=said, reasoning="", confidence=0.9, follow_up_questions=())
    cache_answer(cast(RunContext, context), state, composition, ())
    return cast(CachedAnswer | None, context.memory.get(ONE))


class TestKeep:
    def test_what_the_run_spent_is_not_spent_again(self) -> None:
        spent = Spent("", "plan", "m", "done", 10, 5, 0, 1)
        kept = remembered(Doings(calls=[spent]), outcome())
        assert kept is not None
        assert kept.metadata.model_usage is None
        assert "model_usage" not in to_json(kept.metadata)

    @pytest.mark.parametrize("said", ["answered", "partial", "conflict", "not_found"])
    def test_whole_answers_are_kept(self, said: Outcome) -> None:
        assert is_kept(outcome(), outcome("summary_tool", "summary_tool"), outcome("math_tool", "math_tool"), said=said)

    def test_small_talk_is_kept(self) -> None:
        assert is_kept(said="chitchat")

    @pytest.mark.parametrize("said", ["failed", "refused"])
    def test_failures_and_refusals_are_not(self, said: Outcome) -> None:
        assert not is_kept(outcome(), said=said)

    @pytest.mark.parametrize(
        "other",
        [
            outcome("log_tool", "log_tool"),
            outcome("python_tool", "python_tool"),
            outcome("rag_tool", "log_tool"),
            outcome("summary_tool", "summary_tool", ok=False),
            outcome(by_words_alone=True),
        ],
        ids=["logs", "a tool not known to be timeless", "an alternative", "a failed step", "words alone"],
    )
    def test_one_step_that_is_not_whole_or_not_lasting_is_enough_to_forget(self, other: StepOutcome) -> None:
        assert not is_kept(outcome(), other)

    def test_nothing_done_in_a_lesser_way_is_kept(self) -> None:
        assert not is_kept(outcome(), degraded="plan_review")
        assert not is_kept(outcome(), outages=1)
