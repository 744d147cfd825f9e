import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.deep import Asked, DeepPlan, Observation, Research, Working
from app.reasoning.deep import CritiqueRequest, DecomposeRequest, TellRequest
from app.reasoning.local.deep import LocalDeepReasoner, is_dependent
from app.reasoning.local.deep.criticising import criticise
from app.reasoning.local.deep.planning import decompose
from app.text.language import guess_language
from tests import factories
from tests.acceptance.test_tool_questions import QUESTIONS, REFUSED
from tests.unit.reasoning.local.conftest import SEED
from tests.unit.reasoning.local.deep.driving import EXPERT, RESEARCHER, TODAY

RULE = "Mỗi lần đi muộn kể từ lần thứ 3 trong tháng bị khấu trừ 50.000 đồng vào phụ cấp chuyên cần."
ASKED = Asked(question="Nhân viên đi muộn 5 lần bị trừ bao nhiêu đồng?", language="vi", style="short")
PLAN = DeepPlan(question=ASKED.question, research=("Đi muộn bị trừ bao nhiêu?",), logic=("Tính.",))


def working(expression: str, answer: str) -> Working:
    return Working(
        answer=answer,
        text=answer,
        solved=True,
        steps=("tính",),
        findings=(factories.finding(factories.passage(RULE)),),
        observations=(Observation(tool="math_tool", query=f"Tính {expression}", text=""),),
    )


def review(work: Working) -> str:
    return criticise(CritiqueRequest(of="expert", asked=ASKED, plan=PLAN, working=work)).feedback


class TestIsDependent:
    def test_is_false_of_every_question_of_the_demonstration(self) -> None:
        lines = [line for path in SEED.glob("*/questions*.jsonl") for line in path.read_text("utf-8").splitlines()]
        questions = [json.loads(line)["question"] for line in lines]
        assert len(questions) > 300
        assert [one for one in questions if is_dependent(one, guess_language(one))] == []

    def test_is_false_of_what_one_tool_answers(self) -> None:
        assert [one for one in (*QUESTIONS, *REFUSED) if is_dependent(one, guess_language(one))] == []

    @pytest.mark.parametrize(
        "question",
        [
            "Nhân viên lương 18 triệu đi muộn 5 lần tháng này bị trừ tổng cộng bao nhiêu?",
            "A decision was given on 5 October 2026. What is the last day on which he can appeal?",
        ],
    )
    def test_is_true_of_sums_over_rules(self, question: str) -> None:
        assert is_dependent(question, guess_language(question))


class TestPlan:
    def test_has_no_research_where_the_question_says_all(self) -> None:
        asked = Asked(question="Which number comes next: 3, 6, 12, 24, ?", language="en")
        plan = decompose(DecomposeRequest(asked=asked, researcher=RESEARCHER, expert=EXPERT, today=TODAY))
        assert plan.research == ()

    def test_looks_up_each_side_of_a_comparison(self) -> None:
        asked = Asked(question="Phép năm của người làm 10 năm nhiều hơn người làm 2 năm bao nhiêu ngày?", language="vi")
        plan = decompose(DecomposeRequest(asked=asked, researcher=RESEARCHER, expert=EXPERT, today=TODAY))
        assert len(plan.research) >= 2

    def test_without_research_is_sent_back_when_a_rule_is_needed(self) -> None:
        plan = DeepPlan(question=ASKED.question, logic=("Tính.",))
        found = criticise(CritiqueRequest(of="planner", asked=ASKED, plan=plan, tools=(*RESEARCHER, *EXPERT)))
        assert not found.approved
        assert "đi muộn" in found.feedback


class TestCritique:
    def test_approves_what_recomputes_from_question_and_quotes(self) -> None:
        assert review(working("(5 - 3 + 1) * 50000", "150000")) == ""

    def test_sends_back_a_wrong_sum_with_the_right_one(self) -> None:
        assert "150000" in review(working("(5 - 3 + 1) * 50000", "250000"))

    def test_sends_back_a_number_that_nobody_stated(self) -> None:
        assert "70000" in review(working("5 * 70000", "350000"))

    def test_asks_for_another_search_when_nothing_was_found_at_the_first(self) -> None:
        nothing = Research(
            step=1, task="x", text="", found=False, observations=(Observation(tool="rag_tool", query="x", text=""),)
        )
        found = criticise(CritiqueRequest(of="researcher", asked=ASKED, plan=PLAN, research=nothing))
        assert not found.approved
        assert "đi muộn" in found.feedback


class TestReport:
    async def test_is_honest_when_nothing_was_worked_out(self) -> None:
        report = await LocalDeepReasoner().tell(TellRequest(asked=ASKED, plan=PLAN, failure="research"))
        assert not report.solved
        assert "Không tìm được thông tin cần thiết." in report.answer


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_odd_questions_are_planned_and_never_raise(text: str) -> None:
    asked = Asked(question=text, language="vi")
    plan = decompose(DecomposeRequest(asked=asked, researcher=RESEARCHER, expert=EXPERT, today=date(2026, 1, 1)))
    assert plan.logic
    is_dependent(text, "en")
