"""The deep flow's agents without a model: they quote, calculate what is stated, and say what is missing."""

from datetime import date

import pytest

from app.domain.deep import Asked, Critique, DeepPlan, Observation, Research, Working
from app.reasoning.deep import (
    Action,
    ActRequest,
    CritiqueRequest,
    DecomposeRequest,
    Found,
    Solved,
    TellRequest,
    ToolOffer,
    ToolWish,
)
from app.reasoning.local.deep import LocalDeepReasoner
from tests import factories

TODAY = date(2026, 11, 22)
SEARCH, MATH = ToolOffer(name="rag_tool", description=""), ToolOffer(name="math_tool", description="")
FORMULA = "Tiền làm thêm = tiền lương giờ × số giờ làm thêm."
TIERS = "Từ 5 năm đến dưới 10 năm: 25 ngày phép."
REASONER = LocalDeepReasoner()


def asked(question: str) -> Asked:
    return Asked(question=question, language="vi")


def found(text: str, task: str = "quy định") -> Research:
    return Research(step=1, task=task, text=text, found=True, findings=(factories.finding(factories.passage(text)),))


async def worked(question: str, *research: Research, observations: tuple[Observation, ...] = ()) -> Action:
    plan = DeepPlan(question=question, research=tuple(one.task for one in research), logic=("Trích dẫn.",))
    return await REASONER.next_action(
        ActRequest(
            role="expert", asked=asked(question), plan=plan, task="Trích dẫn.", tools=(MATH,), research=research,
            observations=observations, today=TODAY, calls_left=3,
        )
    )  # fmt: skip


async def planned(question: str) -> DeepPlan:
    return await REASONER.decompose(
        DecomposeRequest(asked=asked(question), researcher=(SEARCH,), expert=(MATH,), today=TODAY)
    )


def result_of(action: Action) -> Working:
    assert isinstance(action, Solved)
    return action.working


class TestPlan:
    async def test_has_one_step_a_question(self) -> None:
        plan = await planned("Phép năm có bao nhiêu ngày? Giờ làm việc bắt đầu từ mấy giờ?")
        assert len(plan.research) == 2

    async def test_looks_nothing_up_for_a_sum(self) -> None:
        assert (await planned("12 * 30 = ?")).research == ()


class TestResearch:
    async def test_searches_the_task_then_hands_on_what_was_found(self) -> None:
        plan = DeepPlan(question="?", research=("Phép năm",), logic=("Trích dẫn.",))
        request = ActRequest(
            role="researcher", asked=asked("Phép năm?"), plan=plan, task="Phép năm", step=1, tools=(SEARCH,),
            today=TODAY, calls_left=2,
        )  # fmt: skip
        wish = await REASONER.next_action(request)
        assert isinstance(wish, ToolWish)
        assert (wish.tool, wish.query) == ("rag_tool", "Phép năm")
        seen = Observation(
            tool="rag_tool", query="Phép năm", text=TIERS, findings=(factories.finding(factories.passage(TIERS)),)
        )  # fmt: skip
        done = await REASONER.next_action(request.model_copy(update={"observations": (seen,)}))
        assert isinstance(done, Found)
        assert done.found
        assert done.findings == (0,)


class TestAnswer:
    async def test_is_the_quote_where_the_question_gives_no_figures(self) -> None:
        working = result_of(await worked("Bao nhiêu năm thì được nghỉ phép nhiều nhất?", found(TIERS)))
        assert working.solved
        assert "25 ngày" in working.answer

    async def test_is_the_sum_that_the_question_states(self) -> None:
        wish = await worked("12 * 30 = ?")
        assert isinstance(wish, ToolWish)
        assert wish.arguments["expression"] == "12 * 30"
        made = Observation(tool=wish.tool, query=wish.query, text="12 × 30 = 360", value="360")
        working = result_of(await worked("12 * 30 = ?", observations=(made,)))
        assert (working.solved, working.answer) == (True, "360")

    @pytest.mark.parametrize(
        ("question", "text"),
        [
            ("Tính tiền làm thêm 3 giờ", FORMULA),
            ("Lương giờ 100.000 đồng, làm thêm 3 giờ thì được trả bao nhiêu tiền?", FORMULA),
            ("Làm 6 năm thì được nghỉ phép bao nhiêu ngày?", TIERS),
            ("Đi muộn 6 lần bị trừ tổng cộng bao nhiêu tiền?", "Mỗi lần đi muộn bị trừ 50.000 đồng."),
        ],
        ids=["an operand is missing", "a formula", "a tier", "no formula is stated"],
    )
    async def test_shows_the_rule_and_does_not_apply_it_to_figures(self, question: str, text: str) -> None:
        working = result_of(await worked(question, found(text)))
        assert not working.solved
        assert text.rstrip(".") in working.text

    async def test_is_none_where_a_part_was_not_found(self) -> None:
        missing = Research(step=2, task="Phụ cấp gửi xe", text="", found=False)
        working = result_of(await worked("Phép năm và phụ cấp gửi xe thế nào?", found(TIERS), missing))
        assert not working.solved
        assert "Phụ cấp gửi xe" in working.text
        assert "25 ngày" in working.text


class TestCritic:
    @pytest.mark.parametrize(("answer", "approved"), [("25 ngày", True), (" ", False)])
    async def test_sends_back_an_empty_answer(self, answer: str, *, approved: bool) -> None:
        working = Working(answer=answer, text=answer, solved=True)
        plan = DeepPlan(question="?", research=("x",), logic=("y",))
        request = CritiqueRequest(of="expert", asked=asked("Đi muộn 5 lần?"), plan=plan, working=working)
        assert (await REASONER.criticise(request)).approved is approved


async def test_the_report_says_why_there_is_no_answer() -> None:
    plan = DeepPlan(question="?", logic=("y",))
    report = await REASONER.tell(TellRequest(asked=asked("?"), plan=plan, failure="research"))
    assert not report.solved
    assert "Không tìm được thông tin cần thiết." in report.answer


async def test_the_report_traces_the_plan_the_search_and_what_was_sent_back() -> None:
    plan = DeepPlan(question="?", research=("quy định làm thêm",), logic=("Trích dẫn.",))
    sent_back = Critique(of="researcher", approved=False, feedback="thiếu nguồn", step=1)
    accepted = Critique(of="planner", approved=True)
    request = TellRequest(
        asked=asked("?"), plan=plan, research=(found(FORMULA),), critiques=(accepted, sent_back), failure="expert"
    )
    lines = (await REASONER.tell(request)).reasoning.split("\n")
    assert "Kế hoạch: quy định làm thêm; Trích dẫn." in lines
    assert any(FORMULA in line for line in lines)
    assert [line for line in lines if line.startswith("Bị trả lại")] == ["Bị trả lại (researcher): thiếu nguồn"]
