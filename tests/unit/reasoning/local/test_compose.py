import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.knowledge import Finding, Language
from app.reasoning import ComposeRequest, Composition, ResolvedPoint
from app.reasoning.local import LocalReasoner
from app.reasoning.local.compose import composed as of_request
from app.reasoning.local.rendering import render
from tests import factories
from tests.unit.reasoning.local.conftest import request, seed_passages

VALUES_ASKED, LATE_ASKED = "Giá trị cốt lõi của công ty là gì?", "Đi muộn có ảnh hưởng đến giá trị nào không?"
CONSEQUENCES = "Đi muộn lần thứ 5 trong tháng bị xử lý thế nào?"
DEMO = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"
POINT = ResolvedPoint(
    subject="ngày phép",
    winner="Nhân viên được nghỉ 14 ngày phép năm.",
    loser="Nhân viên được nghỉ 12 ngày phép năm.",
    winner_title="Chính sách 2026",
    loser_title="Chính sách 2024",
    reason="tài liệu mới hơn",
    preference="Ưu tiên kết quả từ HR (cập nhật mới hơn).",
    decided=True,
)


def found(text: str, query: str, *, agent: str = "hr", title: str = "Chính sách nghỉ phép") -> Finding:
    made = factories.finding(factories.passage(text, document=title, title=title), agent=agent, query=query)
    return made.model_copy(update={"answer": render(made.quotes)})


def nothing(query: str, *, agent: str = "hr") -> Finding:
    return factories.finding(agent=agent, query=query)


LEAVE = found("Nhân viên được nghỉ 14 ngày phép năm.", "Nghỉ phép năm được bao nhiêu ngày?")


async def composed(
    reasoner: LocalReasoner, *findings: Finding, query: str = "", language: Language = "vi", **rest: object
) -> Composition:
    """The composition; on the way the streamed pieces must join to its answer."""
    values = {"query": query or findings[0].query, "language": language, "findings": findings, **rest}
    pieces = [piece async for piece in reasoner.compose(ComposeRequest.model_validate(values))]
    whole = pieces.pop()
    assert isinstance(whole, Composition)
    assert "".join(str(piece) for piece in pieces) == whole.answer
    assert len(pieces) > 1
    return whole


class TestAnswered:
    async def test_one_finding_is_told_without_a_heading(self, reasoner: LocalReasoner) -> None:
        whole = await composed(reasoner, LEAVE)
        assert whole.answer == "Nhân viên được nghỉ 14 ngày phép năm."
        assert whole.outcome == "answered"
        assert whole.confidence == LEAVE.confidence
        assert whole.reasoning.startswith("Câu trả lời trích nguyên văn từ “Chính sách nghỉ phép”")

    async def test_the_demo_question_names_the_values_and_what_lateness_does(self, reasoner: LocalReasoner) -> None:
        values = seed_passages("acme/general/core-values")
        lateness = seed_passages("acme/hr/punctuality-2026")
        findings = [
            await reasoner.answer(request(query, passages))
            for query, passages in ((VALUES_ASKED, values), (LATE_ASKED, lateness), (CONSEQUENCES, lateness))
        ]
        whole = await composed(reasoner, *findings, query=DEMO)
        assert whole.outcome in ("answered", "partial")
        for said in ("Khách hàng trước tiên", "Chính trực", "Hợp tác", "Kỷ luật", "khiển trách"):
            assert said.lower() in whole.answer.lower()
        assert "ảnh hưởng trực tiếp đến giá trị cốt lõi Kỷ luật" in whole.answer
        assert f"**{VALUES_ASKED}**" in whole.answer

    async def test_the_same_span_is_not_told_twice(self, reasoner: LocalReasoner) -> None:
        again = LEAVE.model_copy(update={"query": "Phép năm mấy ngày?", "index": 2})
        whole = await composed(reasoner, LEAVE, again, query="Nghỉ phép năm?")
        assert whole.answer.count("14 ngày") == 1

    async def test_documents_are_told_apart_by_title(self, reasoner: LocalReasoner) -> None:
        other = found("Nhân viên kho được nghỉ 16 ngày phép năm.", LEAVE.query, title="Quy định kho")
        whole = await composed(reasoner, LEAVE, other)
        assert "Theo “Chính sách nghỉ phép”:" in whole.answer
        assert "Theo “Quy định kho”:" in whole.answer

    async def test_the_closest_passage_is_shown_as_such_and_never_as_the_answer(self, reasoner: LocalReasoner) -> None:
        whole = await composed(reasoner, LEAVE.model_copy(update={"is_closest": True, "confidence": 0.3}))
        assert whole.outcome == "partial"
        assert whole.answer.startswith("Tôi chưa tìm được câu trả lời chắc chắn. Những đoạn gần câu hỏi nhất:")

    async def test_computed_amounts_are_told_with_their_formula(self, reasoner: LocalReasoner) -> None:
        sum_ = "15.000.000 / 26 × 3 = 1.730.769 đồng"
        whole = await composed(reasoner, LEAVE, computations=(sum_,))
        assert f"Tính toán: {sum_}" in whole.answer
        alone = await composed(reasoner, query="15.000.000 / 26 × 3", computations=(sum_,))
        assert alone.outcome == "answered"

    async def test_a_summary_that_was_asked_for_is_the_answer(self, reasoner: LocalReasoner) -> None:
        gist = "- 14 ngày phép năm\n- chuyển tối đa 5 ngày"
        whole = await composed(reasoner, LEAVE, query="Tóm tắt quy định nghỉ phép", summaries=(gist,))
        assert whole.answer == gist

    async def test_an_english_asker_is_answered_in_english(self, reasoner: LocalReasoner) -> None:
        whole = await composed(reasoner, LEAVE, query="How much leave do I get?", language="en")
        assert whole.reasoning.startswith("The answer quotes “Chính sách nghỉ phép”")


class TestPartial:
    async def test_the_part_nobody_answered_is_named(self, reasoner: LocalReasoner) -> None:
        query = f"{LEAVE.query} Và bãi gửi xe ở đâu?"
        whole = await composed(reasoner, LEAVE, nothing("Bãi gửi xe ở đâu?", agent="general"), query=query)
        assert whole.outcome == "partial"
        assert "Chưa tìm thấy trong tài liệu bạn được xem: Bãi gửi xe ở đâu." in whole.answer
        assert whole.confidence < LEAVE.confidence

    async def test_a_query_the_planner_added_is_not_missed(self, reasoner: LocalReasoner) -> None:
        assert (await composed(reasoner, LEAVE, nothing(CONSEQUENCES))).outcome == "answered"

    async def test_an_agent_that_failed_is_named(self, reasoner: LocalReasoner) -> None:
        whole = await composed(reasoner, LEAVE, failed_agents=("it",))
        assert whole.outcome == "partial"
        assert "Agent IT chưa trả lời được" in whole.answer


class TestConflict:
    async def test_a_decided_point_says_what_was_not_followed_and_why(self, reasoner: LocalReasoner) -> None:
        whole = await composed(reasoner, LEAVE, conflicts=(POINT,))
        assert whole.outcome == "answered"
        assert "“Chính sách 2024” nói khác (Nhân viên được nghỉ 12 ngày phép năm)" in whole.answer
        assert whole.reasoning == "Ưu tiên kết quả từ HR (cập nhật mới hơn). Nguồn được theo: “Chính sách 2026”."

    async def test_an_undecided_point_shows_both_sides(self, reasoner: LocalReasoner) -> None:
        point = POINT.model_copy(update={"decided": False})
        whole = await composed(reasoner, LEAVE, conflicts=(point,))
        assert whole.outcome == "conflict"
        assert "14 ngày" in whole.answer
        assert "12 ngày" in whole.answer
        assert whole.confidence < LEAVE.confidence

    async def test_neither_side_of_an_undecided_point_is_told_alone(self, reasoner: LocalReasoner) -> None:
        quote = LEAVE.quotes[0]
        point = POINT.model_copy(
            update={"decided": False, "winner": quote.text.rstrip("."), "winner_title": quote.passage.title}
        )
        whole = await composed(reasoner, LEAVE, conflicts=(point,))
        assert whole.answer.startswith("Lưu ý: hai tài liệu chưa thống nhất")
        assert whole.answer.count(quote.text.rstrip(".")) == 1

    @pytest.mark.parametrize(
        ("language", "said"), [("vi", "hai tài liệu chưa thống nhất"), ("en", "two documents disagree")]
    )
    async def test_below_the_threshold_nothing_is_chosen_in_either_language(
        self, reasoner: LocalReasoner, language: Language, said: str
    ) -> None:
        point = POINT.model_copy(update={"decided": False})
        whole = await composed(reasoner, LEAVE, conflicts=(point,), language=language)
        assert said in whole.answer and POINT.preference not in whole.reasoning
        for title in (POINT.winner_title, POINT.loser_title):
            assert f"“{title}”" in whole.answer

    async def test_in_english_the_winner_is_preferred_in_english(self, reasoner: LocalReasoner) -> None:
        point = POINT.model_copy(update={"preference": "Results from HR are preferred (updated more recently)."})
        whole = await composed(reasoner, LEAVE, conflicts=(point,), language="en")
        assert "“Chính sách 2024” says otherwise" in whole.answer
        assert whole.reasoning == "Results from HR are preferred (updated more recently). Followed: “Chính sách 2026”."


class TestNotFound:
    async def test_it_says_what_was_searched_and_whom_to_ask(self, reasoner: LocalReasoner) -> None:
        whole = await composed(reasoner, nothing("Công ty có mấy máy bay?", agent="general"))
        assert whole.outcome == "not_found"
        assert whole.confidence <= 0.3
        assert "Công ty có mấy máy bay" in whole.answer
        assert "đã tìm ở general" in whole.answer.lower()
        assert "hỏi trực tiếp bộ phận phụ trách" in whole.answer
        assert whole.follow_up_questions == ()

    async def test_without_any_finding_it_is_said_too(self, reasoner: LocalReasoner) -> None:
        whole = await composed(reasoner, query="Is there a gym?", language="en", failed_agents=("hr",))
        assert whole.outcome == "not_found"
        assert "The HR agent could not answer right now" in whole.answer


CONFIDENCE_PAGE = (Path(__file__).parents[4] / "docs" / "confidence.md").read_text("utf-8")


def share_told(pattern: str) -> float:
    told = re.search(pattern, CONFIDENCE_PAGE)
    assert told is not None, pattern
    return float(told[1])


class TestConfidence:
    """The formula of docs/confidence.md, with the figures told there."""

    @settings(deadline=None)
    @given(st.lists(st.floats(0, 1), max_size=4), st.booleans())
    def test_not_found_is_never_sure(self, confidences: list[float], has_failed: bool) -> None:
        findings = [
            nothing(f"Câu hỏi {at}?", agent=f"a{at}").model_copy(update={"confidence": value})
            for at, value in enumerate(confidences)
        ]
        failed = ("it",) if has_failed else ()
        whole = of_request(ComposeRequest(query="Hỏi?", language="vi", findings=tuple(findings), failed_agents=failed))
        most = share_told(r"`not_found` \| of the surest finding, at most ([\d.]+)")
        assert whole.outcome == "not_found"
        assert whole.confidence == min(most, max(confidences, default=0.0))

    @settings(deadline=None)
    @given(st.lists(st.floats(0.3, 1), min_size=1, max_size=4), st.integers(0, 2), st.booleans(), st.booleans())
    def test_it_is_the_mean_over_what_was_asked(
        self, confidences: list[float], missing: int, is_open: bool, has_failed: bool
    ) -> None:
        known = [
            found(f"Điều {at}.", f"Chủ đề {at}?", title=f"t{at}").model_copy(update={"confidence": value})
            for at, value in enumerate(confidences)
        ]
        unknown = [nothing(f"Việc {at}?") for at in range(missing)]
        whole = of_request(
            ComposeRequest(
                query=" ".join(finding.query for finding in (*known, *unknown)), language="vi",
                findings=(*known, *unknown), failed_agents=("it",) if has_failed else (),
                conflicts=(POINT.model_copy(update={"decided": False}),) if is_open else (),
            )
        )  # fmt: skip
        expected = sum(confidences) / (len(confidences) + missing)
        expected = min(expected, share_told(r"left undecided \| at most ([\d.]+)") if is_open else 1)
        expected *= share_told(r"an agent failed \| times ([\d.]+)") if has_failed else 1
        assert whole.confidence == pytest.approx(expected, abs=1e-4)

    @settings(deadline=None)
    @given(st.floats(0.3, 1), st.floats(0.3, 1))
    def test_of_two_agents_the_surer_counts(self, one: float, other: float) -> None:
        twice = [
            found("Điều một.", "Chủ đề?", agent=agent, title=agent).model_copy(update={"confidence": value})
            for agent, value in (("hr", one), ("it", other))
        ]
        whole = of_request(ComposeRequest(query="Chủ đề?", language="vi", findings=tuple(twice)))
        assert whole.confidence == pytest.approx(max(one, other), abs=1e-4)


class TestFollowUpQuestions:
    async def test_they_come_from_headings_not_yet_answered(self, reasoner: LocalReasoner) -> None:
        passages = seed_passages("acme/hr/annual-leave-2026")
        finding = await reasoner.answer(request("Kết hôn được nghỉ mấy ngày?", passages))
        whole = await composed(reasoner, finding, max_follow_up_questions=2)
        assert 1 <= len(whole.follow_up_questions) <= 2
        assert all(question.endswith("?") for question in whole.follow_up_questions)
        assert not any("kết hôn" in question.lower() for question in whole.follow_up_questions)

    async def test_none_are_made_when_none_are_wanted(self, reasoner: LocalReasoner) -> None:
        assert (await composed(reasoner, LEAVE, max_follow_up_questions=0)).follow_up_questions == ()
