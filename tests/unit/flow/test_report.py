from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.agents.registry import AgentRegistry
from app.agents.step import StepError, StepOutcome
from app.domain.knowledge import Quote
from app.domain.plan import PlannedStep, Step
from app.flow.wording import MOST_READ, best_read, report_of
from app.tools.base import ToolResult
from tests.factories import finding, passage

NOW = datetime(2026, 11, 21, tzinfo=UTC)
TYPES = {"math.mcp_sum": "sum", "math.mcp_subtract": "subtract", "date.working_days": "working_days"}
POOLS = ("math", "date")


def agents() -> AgentRegistry:
    def spec(name: str) -> Any:
        return SimpleNamespace(is_pool=name in POOLS, type_of=lambda tool: TYPES.get(tool, ""))

    return cast(AgentRegistry, SimpleNamespace(names=(*POOLS, "hr"), spec=spec))


def outcome(number: int, tool: str, value: Any, agent: str = "math") -> StepOutcome:
    planned = PlannedStep(
        number=number, tier=1, step=Step(agent=agent, tool=tool, message="?"), queries=((1, "?"),), node_id=f"{number}"
    )
    error = StepError("tool_failed", "no") if value is None else None
    result = None if value is None else ToolResult(text="", value=value)
    return StepOutcome(
        step=planned, tool=tool, started_at=NOW, ended_at=NOW, duration_ms=1, input_hash="", output_hash=None,
        result=result, error=error,
    )  # fmt: skip


class TestReportOf:
    def test_is_the_seeds(self) -> None:
        assert report_of([outcome(1, "math.mcp_sum", {"result": "6"})], agents()) == "## Math Results:\n- **sum**: 6.0"

    def test_has_a_line_an_operation_and_a_section_a_pool(self) -> None:
        steps = [
            outcome(3, "date.working_days", {"result": 56, "working_days": 56}, "date"),
            outcome(2, "math.mcp_subtract", {"result": "0.25"}),
            outcome(1, "math.mcp_sum", [{"result": "6"}, {"result": "-7"}]),
        ]
        assert report_of(steps, agents()) == (
            "## Math Results:\n- **sum**: 6.0\n- **sum**: -7.0\n- **subtract**: 0.25\n\n"
            "## Date Results:\n- **working_days**: 56"
        )

    @pytest.mark.parametrize(
        "value", [None, [], {}, {"answer": "6"}, {"result": None}, {"result": {}}, {"result": "[x](https://evil.example)"},
                  {"result": "6\n## More"}, {"result": "9" * 200}],
    )  # fmt: skip
    def test_says_nothing_where_nothing_was_computed(self, value: Any) -> None:
        """Text of a stranger's server is no number, day or name: it does not become part of our Markdown."""
        assert report_of([outcome(1, "math.mcp_sum", value)], agents()) == ""

    def test_leaves_departments_out(self) -> None:
        assert report_of([outcome(1, "rag_tool", {"result": "6"}, "hr")], agents()) == ""
        assert report_of([outcome(1, "merge", {"result": "6"}, "orchestrator")], agents()) == ""


def read(agent: str, number: int, query: str, *scores: tuple[float, float, float]) -> StepOutcome:
    """What an agent read for a query: of each passage its likeness, words found, and the reader's chance."""
    quotes = tuple(
        Quote(passage=passage(f"{agent} {query} {at}", similarity=near, text_rank=said), text=agent, score=chance)
        for at, (near, said, chance) in enumerate(scores)
    )
    found = finding(agent=agent, query=query).model_copy(update={"read": quotes})
    whole = outcome(number, "rag_tool", {}, agent)
    return replace(whole, result=ToolResult(text="", findings=(found,)))


class TestBestRead:
    def test_of_all_departments_are_on_one_scale(self) -> None:
        outcomes = [
            read("it", 1, "a", (0.2, 0, 0.1), (0.1, 0, 0.0)),
            read("hr", 2, "a", (0.7, 0.4, 0.9), (0.05, 0, 0.05)),
        ]
        assert [quote.passage.text for quote in best_read(outcomes)][:2] == ["hr a 0", "it a 0"]

    def test_give_every_question_its_share_and_each_passage_one_place(self) -> None:
        many = tuple((0.9 - at / 100, 0.5, 0.5) for at in range(20))
        outcomes = [read("hr", 1, "a", *many), read("it", 2, "b", (0.1, 0, 0.01)), read("hr", 3, "a", *many)]
        best = [quote.passage.text for quote in best_read(outcomes)]
        assert best[:2] == ["hr a 0", "it b 0"]
        assert len(best) == len(set(best)) == MOST_READ
