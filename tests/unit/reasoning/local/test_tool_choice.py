"""Which tool answers a question by itself; policies never are taken for sums."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.reasoning import AgentOffer
from app.reasoning.local.intents import Choice, tool_for
from app.reasoning.local.sums import reckoning_asked

SEED = Path(__file__).parents[4] / "seed_data"
EVAL = Path(__file__).parents[5] / "shared" / "eval"
CALCULATES = {"calculator", "date", "measurement_conversion"}
"""Intents of the development data that a calculator answers."""
MATH = AgentOffer(
    name="math",
    description="",
    tools={"math.mcp_sum": "", "math.mcp_percent": "", "math.mcp_evaluate": "", "unit_tool": ""},
    exemplars=(),
    departments=(),
    types={
        "sum": "math.mcp_sum",
        "percent": "math.mcp_percent",
        "evaluate": "math.mcp_evaluate",
        "convert": "unit_tool",
    },
)
DATE = AgentOffer(
    name="date",
    description="",
    tools={"date.working_days": "", "date.weekday": ""},
    exemplars=(),
    departments=(),
    types={"working_days": "date.working_days", "weekday": "date.weekday"},
)
HR = AgentOffer(
    name="hr", description="", tools={"rag_tool": "", "math_tool": ""}, exemplars=(), departments=("hr", "general")
)


def chosen(query: str, *offers: AgentOffer) -> str:
    choice = tool_for(query, offers)
    return f"{choice.agent.name} {choice.tool}" if choice else ""


class TestToolFor:
    @pytest.mark.parametrize(
        ("query", "tool"),
        [
            ("tính 2+4 = ??", "math math.mcp_sum"),
            ("15% của 32 triệu là bao nhiêu?", "math math.mcp_percent"),
            ("(3 + 4) * 5", "math math.mcp_evaluate"),
            ("100 °F là bao nhiêu độ C", "math unit_tool"),
            ("từ 3/2 đến 30/4/2026 có bao nhiêu ngày làm việc?", "date date.working_days"),
            ("Ngày 2/9/2026 là thứ mấy?", "date date.weekday"),
        ],
    )
    def test_takes_the_fittest_that_is_offered(self, query: str, tool: str) -> None:
        assert chosen(query, HR, MATH, DATE) == tool

    def test_takes_the_next_best_where_the_fittest_is_not_offered(self) -> None:
        assert chosen("tính 2+4", HR) == "hr math_tool"
        assert chosen("100 °F là bao nhiêu độ C", HR) == ""

    def test_a_rate_that_stands_in_the_rules_is_searched_there(self) -> None:
        assert chosen("Lương giờ 60.000 đồng, làm thêm 3 giờ ngày nghỉ được bao nhiêu?", HR, MATH) == ""
        assert chosen("làm thêm 3 giờ ngày nghỉ được bao nhiêu", HR, MATH) == ""

    def test_nothing_is_chosen_for_a_question_about_rules(self) -> None:
        assert tool_for("Nghỉ phép năm được bao nhiêu ngày?", (HR, MATH, DATE)) is None

    def test_an_address_leads_to_the_tool_for_pages(self) -> None:
        web = AgentOffer(name="web", description="", tools={"web_tool": ""}, exemplars=(), departments=())
        assert tool_for("đọc https://example.com/a giúp tôi", (web,)) == Choice(web, "web_tool")


def _bundled() -> Iterator[str]:
    for path in sorted(SEED.glob("*/questions*.jsonl")):
        yield from (json.loads(line)["question"] for line in path.read_text("utf-8").splitlines() if line.strip())


def _development() -> Iterator[str]:
    for name in ("intent/intent_en.jsonl", "intent/intent_vi.jsonl"):
        rows = [json.loads(line) for line in (EVAL / name).read_text("utf-8").splitlines()]
        yield from (row["text"] for row in rows if row["intent"] not in CALCULATES)
    for line in (EVAL / "xquad" / "queries.jsonl").read_text("utf-8").splitlines():
        yield str(json.loads(line)["question"])


class TestWhatIsNoSum:
    def test_no_bundled_question_is_taken_from_the_documents(self) -> None:
        questions = list(_bundled())
        assert len(questions) >= 300
        assert [question for question in questions if reckoning_asked(question)] == []

    @pytest.mark.skipif(not EVAL.is_dir(), reason="the development data of ../shared/eval is not here")
    def test_no_other_question_is_taken_for_a_sum(self) -> None:
        assert [question for question in _development() if reckoning_asked(question)] == []
