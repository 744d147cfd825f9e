"""The questions of the seed documents, asked of the whole house over the bundled documents."""

import pytest

from app.domain.answer import FinalAnswer
from app.domain.plan import Plan
from app.events import PlanReady, Progress, TextDelta, ToolRequest
from app.main import Services
from tests.acceptance.asking import Told, ask

CORE_VALUES = ("Khách hàng trước tiên", "Chính trực", "Hợp tác", "Kỷ luật")
DEMO = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"
LEAVE_COST = "Tính toán chi phí nghỉ phép và so sánh với chính sách công ty"


def plan_of(told: Told) -> Plan:
    [ready] = [event for event in told.events if isinstance(event, PlanReady)]
    return Plan.model_validate(ready.plan)


def answer_of(told: Told) -> FinalAnswer:
    return FinalAnswer.model_validate({k: v for k, v in told.answer.items() if k in FinalAnswer.model_fields})


@pytest.fixture(scope="module")
async def told(services: Services) -> Told:
    """The seed's own question, asked by an hr user."""
    return await ask(services, "acme/lan", DEMO)


class TestCoreValuesAndLateness:
    async def test_general_and_hr_search_in_parallel_then_summary_then_orchestrator(self, told: Told) -> None:
        tiers = plan_of(told).tiers
        assert {"general", "hr"} <= {step.agent for step in tiers[0] if step.tool == "rag_tool"}
        assert any(step.tool == "summary_tool" and step.agent != "orchestrator" for tier in tiers[1:] for step in tier)
        assert [(step.agent, step.tool) for step in tiers[-1]] == [("orchestrator", "summary_tool")]

    async def test_the_answer_names_the_four_values_and_the_one_that_lateness_touches(self, told: Told) -> None:
        answer = told.answer["answer"]
        assert all(value in answer for value in CORE_VALUES)
        assert "ảnh hưởng trực tiếp đến giá trị cốt lõi Kỷ luật" in answer
        assert told.answer["outcome"] in ("answered", "conflict")

    async def test_what_the_handbook_says_otherwise_is_a_note(self, told: Told) -> None:
        answer, note = told.answer["answer"].split("Lưu ý:", 1)
        assert "không bị trừ tiền" not in answer
        assert "Sổ tay nhân viên" in note and "không bị trừ tiền" in note and "Quy định chấm công và đi muộn" in note

    async def test_each_department_is_cited(self, told: Told) -> None:
        urls = [evidence["url"] for evidence in told.answer["evidence"]]
        assert any("core-values" in url for url in urls)
        assert any("punctuality" in url or "/hr/" in url for url in urls)

    async def test_flow_action_tells_the_run_in_order(self, told: Told) -> None:
        actions = answer_of(told).flow_action
        assert [action.order for action in actions] == list(range(1, len(actions) + 1))
        assert told.nodes[:2] == ["Router", "PermissionCheck"]
        assert told.nodes[-2:] == ["ConflictResolver", "AnswerFormatter"]
        steps = actions[2:-2]
        assert any(step.node_id.startswith("general#rag") for step in steps)
        assert any(step.node_id.startswith("hr#rag") for step in steps)
        assert all(step.input_hash and step.output_hash and step.duration_ms is not None for step in steps)

    async def test_progress_goes_from_75_to_95_and_the_text_is_streamed(self, told: Told) -> None:
        shown = [event.output["progress_percentage"] for event in told.events if isinstance(event, Progress)]
        assert shown[0] == 75
        assert shown[-1] == 95
        assert shown == sorted(shown)
        streamed = "".join(event.text for event in told.events if isinstance(event, TextDelta))
        assert streamed == told.answer["answer"]

    async def test_the_stored_task_holds_the_same_answer_and_the_plan_as_it_ended(self, told: Told) -> None:
        assert told.task.result == told.answer
        assert told.task.plan is not None
        planning = told.task.plan["execution_flow"]["planning"]
        assert planning["aggregate_status"] == "completed"
        assert {step["status"] for tier in planning["tasks"][0].values() for step in tier} == {"completed"}
        assert told.task.metadata["performance_metrics"]["query_processing_time_ms"] >= 0


class TestLeaveCost:
    async def test_three_tiers_the_rule_and_what_is_missing_for_a_sum(self, services: Services) -> None:
        told = await ask(services, "acme/lan", LEAVE_COST)
        tiers = [[(step.agent, step.tool) for step in tier] for tier in plan_of(told).tiers]
        assert ("hr", "rag_tool") in tiers[0] and {tool for _, tool in tiers[0]} == {"rag_tool"}
        assert {tool for _, tool in tiers[1]} == {"summary_tool"}
        assert tiers[2:] == [[("hr", "math_tool")]]
        assert "tiền phép = lương cơ bản / 26 ngày × số ngày nghỉ" in told.answer["answer"]
        assert "thiếu số liệu: lương cơ bản, số ngày nghỉ" in told.answer["answer"]

    async def test_the_askers_own_numbers_are_used(self, services: Services) -> None:
        told = await ask(services, "acme/lan", "Tính chi phí nghỉ phép 5 ngày với lương cơ bản 18 triệu đồng")
        assert "3.461.538" in told.answer["answer"]

    async def test_in_english(self, services: Services) -> None:
        question = "Calculate the cost of annual leave and compare it with company policy"
        told = await ask(services, "globex/jane", question)
        assert "annual salary / 260 × days" in told.answer["answer"]
        assert "missing: annual salary, days" in told.answer["answer"]


class TestChitchat:
    @pytest.mark.parametrize(
        ("said", "language"), [("xin chào", "vi"), ("cảm ơn nhé", "vi"), ("hello there", "en"), ("thanks!", "en")]
    )
    async def test_small_talk_is_answered_without_searching(self, services: Services, said: str, language: str) -> None:
        told = await ask(services, "acme/an", said)
        assert told.answer["outcome"] == "chitchat"
        assert told.answer["evidence"] == []
        assert not [event for event in told.events if isinstance(event, ToolRequest | PlanReady)]
        has_marks = any(not character.isascii() for character in told.answer["answer"])
        assert has_marks == (language == "vi")


class TestFollowUp:
    async def test_a_follow_up_is_understood_from_the_session(self, services: Services) -> None:
        first = await ask(services, "acme/hoa", "Nhân viên chính thức được nghỉ bao nhiêu ngày phép năm?")
        assert "14 ngày" in first.answer["answer"]
        second = await ask(
            services, "acme/hoa", "còn nhân viên thử việc thì sao?", session_id=first.answer["session_id"]
        )
        assert second.answer["session_id"] == first.answer["session_id"]
        assert "Nhân viên thử việc chưa được hưởng phép năm" in second.answer["answer"]
        asked = [step.message for tier in plan_of(second).tiers for step in tier]
        assert any("thử việc" in query and "phép" in query for query in asked)


class TestHonesty:
    @pytest.mark.parametrize(
        "question",
        ["Công ty có trợ cấp nuôi thú cưng không?", "Ai vô địch World Cup 2022?", "What is the capital of Mongolia?"],
    )
    async def test_what_no_document_says_is_not_found(self, services: Services, question: str) -> None:
        told = await ask(services, "acme/lan", question)
        assert told.answer["outcome"] == "not_found"
        assert told.answer["confidence_score"] <= 0.3
        assert told.answer["evidence"] == []

    async def test_without_private_rights_nothing_private_is_shown(self, services: Services) -> None:
        told = await ask(services, "acme/an", DEMO)
        assert {evidence["scope"] for evidence in told.answer["evidence"]} <= {"public"}
        for secret in ("50.000 đồng vào phụ cấp chuyên cần", "NS-21", "policies/punctuality"):
            assert secret not in told.text


class TestConflict:
    async def test_a_newer_policy_is_preferred_and_the_older_text_is_named(self, services: Services) -> None:
        told = await ask(services, "acme/lan", "Ngày trả lương hằng tháng là ngày mấy?")
        [resolver] = [a for a in told.answer["flow_action"] if a["node_id"] == "ConflictResolver"]
        assert resolver["policy"] == "weighted_scoring"
        assert resolver["metadata"]["weights"]
        assert "ngày 5" in told.answer["answer"] or "ngày 05" in told.answer["answer"]
