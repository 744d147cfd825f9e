from collections.abc import Mapping, Sequence

import pytest

from app.domain.plan import Plan
from app.reasoning import AgentOffer, Assignment, PlanRequest, Probe
from app.reasoning.local import LocalReasoner

DEMO = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"
LEAVE_COST = "Tính toán chi phí nghỉ phép và so sánh với chính sách công ty"


async def planned(
    reasoner: LocalReasoner,
    offers: Sequence[AgentOffer],
    query: str,
    evidence: Mapping[str, float] | Sequence[Mapping[str, float]] = (),
    *,
    limit: int = 10,
    files: int = 0,
    feedback: str = "",
) -> tuple[Plan, PlanRequest]:
    """The plan of a query; `evidence` by department for all sub-queries, or one mapping each."""
    classification = await reasoner.classify(query, [], offers)
    each = [evidence] * len(classification.sub_queries) if isinstance(evidence, Mapping) else evidence
    probes = [
        Probe(query=one, relevance_by_department=dict(found))
        for one, found in zip(classification.sub_queries, each, strict=False)
    ]
    request = PlanRequest(
        query=query,
        classification=classification,
        agents=tuple(offers),
        probes=tuple(probes),
        user_access=("public", "private"),
        max_queries_per_agent=limit,
        files=files,
        feedback=feedback,
    )
    return await reasoner.plan(request), request


def tiers_of(plan: Plan) -> list[list[str]]:
    return [[f"{step.agent}#{step.tool.removesuffix('_tool')}" for step in tier] for tier in plan.tiers]


class TestDemoQuestion:
    async def test_two_departments_search_in_parallel_then_summary_then_orchestrator(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        evidence = [{"general": 0.99, "hr": 0.6}, {"hr": 0.99, "general": 0.6}]
        plan, request = await planned(reasoner, offers, DEMO, evidence)
        assert tiers_of(plan) == [
            ["general#rag", "hr#rag"],
            ["orchestrator#summary"],
        ]
        assert plan.agents["general"].queries == ("Giá trị cốt lõi của công ty là gì?",)
        assert plan.agents["hr"].queries == ("Đi muộn có ảnh hưởng đến giá trị nào không?",)
        assert {step.step.status for step in plan.steps} == {"pending"}
        assert (await reasoner.review_plan(plan, request)).approved

    async def test_it_is_written_as_the_seed_writes_it(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, _ = await planned(reasoner, offers, DEMO, {"general": 0.9, "hr": 0.6})
        written = plan.model_dump(mode="json")
        assert written["permission"] == {"user_access": ["public", "private"]}
        assert written["agents"]["general"]["queries"][0] == {"1": "Giá trị cốt lõi của công ty là gì?"}
        assert set(written["execution_flow"]["planning"]["tasks"][0]) == {"1", "2", "3"}
        assert Plan.model_validate(written) == plan


class TestCalculation:
    async def test_an_order_to_calculate_searches_digests_and_calculates(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, _ = await planned(reasoner, offers, LEAVE_COST, {"hr": 0.95})
        assert tiers_of(plan) == [["hr#rag"], ["hr#summary"], ["hr#math"]]
        assert plan.agents["hr"].queries == (LEAVE_COST,)
        assert plan.agents["hr"].tools == ("rag_tool", "math_tool")
        assert plan.agents["hr"].sequential_tools == ("rag_tool", "summary_tool", "math_tool")
        assert all(step.step.purpose for step in plan.steps)

    @pytest.mark.parametrize(
        ("sum_", "tool"),
        [
            ("2+4 = ?", "math.mcp_sum"),
            ("tính 15% của 20 triệu", "math.mcp_percent"),
            ("45 plus 87 plus 54", "math.mcp_evaluate"),
        ],
    )
    async def test_a_bare_sum_needs_one_agent_type_of_the_math_pool(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...], sum_: str, tool: str
    ) -> None:
        plan, request = await planned(reasoner, offers, sum_)
        assert [(step.step.agent, step.step.tool) for step in plan.steps] == [("math", tool)]
        assert (await reasoner.review_plan(plan, request)).approved

    async def test_without_the_pool_a_department_calculates(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, request = await planned(reasoner, tuple(o for o in offers if o.departments), "2+4 = ?")
        assert [(step.step.agent, step.step.tool) for step in plan.steps] == [("hr", "math_tool")]
        assert (await reasoner.review_plan(plan, request)).approved


class TestRouting:
    async def test_a_plain_question_is_one_search_of_one_agent(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, _ = await planned(reasoner, offers, "Quên mật khẩu thì làm thế nào?", {"it": 0.98, "hr": 0.4})
        assert tiers_of(plan) == [["it#rag"]]

    async def test_a_second_agent_is_asked_when_its_documents_say_as_much(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        question = "Phụ cấp công tác trong nước một ngày là bao nhiêu?"
        plan, _ = await planned(reasoner, offers, question, {"hr": 0.99, "general": 0.98, "it": 0.2})
        assert set(plan.agents) == {"hr", "general"}

    async def test_log_questions_go_to_the_agent_that_reads_logs(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, _ = await planned(reasoner, offers, "Hôm qua máy chủ nào lỗi đăng nhập nhiều nhất?", {"it": 0.5})
        assert tiers_of(plan) == [["it#log"]]

    async def test_what_belongs_nowhere_goes_to_the_fallback_agent(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, _ = await planned(reasoner, offers, "Ai vô địch World Cup 2022?", {"hr": 0.1, "it": 0.05})
        assert set(plan.agents) == {"general"}

    async def test_only_offered_agents_and_tools_are_named(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        narrow = [
            offer.model_copy(update={"tools": {"rag_tool": ""}}) for offer in offers if offer.name in ("hr", "general")
        ]
        for question in (DEMO, LEAVE_COST, "Hôm qua máy chủ nào lỗi đăng nhập nhiều nhất?", "2+4"):
            plan, request = await planned(reasoner, narrow, question, {"hr": 0.9, "general": 0.9})
            assert {s.step.tool for s in plan.steps if s.step.agent != "orchestrator"} == {"rag_tool"}
            assert (await reasoner.review_plan(plan, request)).approved

    async def test_no_agent_is_asked_more_than_its_limit(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, request = await planned(reasoner, offers, DEMO, {"hr": 0.99}, limit=1)
        assert all(len(agent.queries) <= 1 for agent in plan.agents.values())
        assert request.max_queries_per_agent == 1

    async def test_english_questions_get_english_texts(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        question = "What are our core values, and does being late affect any of them?"
        plan, _ = await planned(reasoner, offers, question, [{"general": 0.9}, {"hr": 0.9}])
        texts = [step.step.message for step in plan.steps] + [plan.execution_flow.conflict_resolution]
        assert all(text.isascii() for text in texts)


class TestReviewPlan:
    async def test_a_sub_query_nobody_is_asked_is_named(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, request = await planned(reasoner, offers, DEMO, [{"general": 0.9}, {"hr": 0.9}])
        cut = plan.model_copy(update={"agents": {"general": plan.agents["general"]}})
        verdict = await reasoner.review_plan(cut, request)
        assert not verdict.approved
        assert "Đi muộn" in verdict.reason

    async def test_after_a_refusal_the_fallback_agent_is_asked_everything_too(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, request = await planned(reasoner, offers, DEMO, {"hr": 0.99}, feedback="Chưa có agent nào được hỏi")
        assert set(request.classification.sub_queries) <= set(plan.agents["general"].queries)


class TestAttachedFiles:
    async def test_are_read_alone(self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]) -> None:
        plan, request = await planned(reasoner, offers, "Tổng cột chi phí quý 2 là bao nhiêu?", files=1)
        assert tiers_of(plan) == [["general#files"]]
        assert (await reasoner.review_plan(plan, request)).approved

    async def test_are_held_against_the_rules_where_that_is_asked(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        question = "Bảng chấm công này có đúng quy định đi muộn không?"
        plan, request = await planned(reasoner, offers, question, {"hr": 0.99}, files=1)
        assert {"general#files", "hr#rag"} <= set(tiers_of(plan)[0])
        assert (await reasoner.review_plan(plan, request)).approved

    async def test_without_a_file_documents_answer(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, _ = await planned(reasoner, offers, "Tổng cột chi phí quý 2 là bao nhiêu?", {"general": 0.9})
        assert "files_tool" not in {step.step.tool for step in plan.steps}


class TestWhatChanged:
    ASKED = "Quy định nghỉ phép có gì thay đổi từ 1/1/2025?"

    async def test_is_asked_of_the_department_and_of_the_agent_for_the_rest(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        plan, request = await planned(reasoner, offers, self.ASKED, {"hr": 0.95})
        assert request.classification.kind == "simple"
        assert request.classification.as_of is None
        assert tiers_of(plan) == [["hr#changes", "general#changes"]]
        assert plan.agents["hr"].queries == (self.ASKED,)

    async def test_without_the_tool_documents_answer(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        without = [
            offer.model_copy(update={"tools": {name: of for name, of in offer.tools.items() if name != "changes_tool"}})
            for offer in offers
        ]
        plan, _ = await planned(reasoner, without, self.ASKED, {"hr": 0.95})
        assert {step.step.tool for step in plan.steps} == {"rag_tool"}

    async def test_documents_that_a_model_wants_searched_are_not_exchanged_for_a_tool(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        query = "Log của tường lửa lưu tổng cộng bao lâu rồi bị xoá?"
        classification = await reasoner.classify(query, [], offers)
        by_rule = PlanRequest(
            query=query, classification=classification, agents=offers, probes=(), user_access=("public",),
            max_queries_per_agent=10,
        )  # fmt: skip
        assert {step.step.tool for step in (await reasoner.plan(by_rule)).steps} == {"log_tool"}, (
            "else it shows nothing"
        )
        assigned = Assignment(agent="it", queries=(query,), tools=("rag_tool",))
        wanted = classification.model_copy(update={"assignments": (assigned,)})
        by_model = by_rule.model_copy(update={"classification": wanted})
        assert {step.step.tool for step in (await reasoner.plan(by_model)).steps} == {"rag_tool"}

    @pytest.mark.parametrize(
        ("tools", "query", "tool"),
        [
            (("changes_tool",), ASKED, "changes_tool"),
            (("rag_tool", "changes_tool"), ASKED, "changes_tool"),
            (("rag_tool", "changes_tool"), "Mỗi năm được nghỉ mấy ngày?", "rag_tool"),
            (("rag_tool",), ASKED, "rag_tool"),
        ],
    )
    async def test_is_left_to_whoever_assigned_it_and_to_the_words_between_two_tools(
        self, tools: tuple[str, ...], query: str, tool: str, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        classification = await reasoner.classify(query, [], offers)
        assigned = Assignment(agent="hr", queries=(query,), tools=tools)
        request = PlanRequest(
            query=query,
            classification=classification.model_copy(update={"assignments": (assigned,)}),
            agents=offers,
            probes=(),
            user_access=("public",),
            max_queries_per_agent=10,
        )
        assert {step.step.tool for step in (await reasoner.plan(request)).steps} == {tool}
