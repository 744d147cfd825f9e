import asyncio
from datetime import date

import pytest

from app.domain.knowledge import Finding, SearchResult, When
from app.domain.principal import Principal
from app.embedding import EmbeddingUnavailable
from app.errors import AppError, ErrorCode, ToolRetry
from app.reasoning import AnswerRequest
from app.tools.rag import PASSAGE_LIMIT, RagTool
from tests.factories import finding, passage
from tests.unit.tools.recording import RecordingReasoner, RecordingSearcher, call

LATE = passage("Đi muộn từ lần thứ 3 bị nhắc nhở.", document="late")
VALUES = passage("Công ty có 4 giá trị cốt lõi.", document="values")


def tool(searcher: RecordingSearcher, reasoner: RecordingReasoner | None = None) -> RagTool:
    return RagTool(searcher, reasoner or RecordingReasoner(), 0.7)


class TestRagTool:
    async def test_answers_every_query_in_order(self) -> None:
        searcher = RecordingSearcher({"Đi muộn?": (LATE,), "Giá trị?": (VALUES,)})
        result = await tool(searcher)(call("Đi muộn?", "Giá trị?"))
        assert [(found.index, found.query, found.answer) for found in result.findings] == [
            (1, "Đi muộn?", LATE.text),
            (2, "Giá trị?", VALUES.text),
        ]
        assert result.text == f"{LATE.text}\n{VALUES.text}"
        assert len(result.searches) == 2

    async def test_keeps_the_number_a_query_has_in_the_plan(self) -> None:
        only_second = call("Giá trị?").model_copy(update={"queries": ((2, "Giá trị?"),)})
        result = await tool(RecordingSearcher({"Giá trị?": (VALUES,)}))(only_second)
        assert result.findings[0].index == 2

    async def test_searches_as_the_caller_in_the_agents_departments_on_the_asked_day(self) -> None:
        searcher = RecordingSearcher()
        await tool(searcher)(call("q", departments=("hr", "finance"), as_of=date(2024, 5, 1)))
        assert searcher.searched == [("q", ("hr", "finance"), PASSAGE_LIMIT, date(2024, 5, 1))]

    async def test_searches_everything_readable_for_an_agent_without_departments(self) -> None:
        searcher = RecordingSearcher()
        await tool(searcher)(call("q", departments=()))
        assert searcher.searched[0][1] is None

    async def test_hands_passages_and_threshold_to_the_reasoner(self) -> None:
        reasoner = RecordingReasoner()
        asked = call("Đi muộn?", language="en", agent="hr")
        await tool(RecordingSearcher({"Đi muộn?": (LATE,)}), reasoner)(asked)
        assert reasoner.answered == [
            AnswerRequest(
                query="Đi muộn?", language="en", agent="hr", index=1, passages=(LATE,), min_relevance_score=0.7,
                today=asked.now.date(), department=asked.principal.department,
            )
        ]  # fmt: skip

    async def test_answers_from_the_current_version_of_a_page_with_the_older_one_beside_it(self) -> None:
        old, new = (
            passage(f"Nhân viên có {days} ngày phép năm.", document=days, title="Phép", effective_from=date(year, 1, 1))
            for days, year in (("12", 2024), ("14", 2026))
        )
        result = await tool(RecordingSearcher({"Phép?": (old, new)}))(call("Phép?"))
        [found] = result.findings
        assert [quote.passage for quote in found.quotes] == [new]
        assert [quote.passage for quote in found.counterparts] == [old], "the note of the conflict names it"

    async def test_reports_what_was_not_found_as_a_finding(self) -> None:
        result = await tool(RecordingSearcher())(call("unknown"))
        assert result.text == ""
        assert [found.found for found in result.findings] == [False]

    async def test_looks_at_what_is_not_in_force_where_nothing_that_is_answers(self) -> None:
        searcher = RecordingSearcher()
        searcher.not_in_force = (LATE,)
        [found] = (await tool(searcher)(call("Đi muộn?"))).findings
        assert (found.found, found.is_closest, found.not_in_force) == (True, True, True)

    async def test_looks_at_nothing_else_where_a_day_was_asked_for(self) -> None:
        searcher = RecordingSearcher()
        searcher.not_in_force = (LATE,)
        asked = call("Đi muộn?").model_copy(update={"as_of": date(2025, 1, 1)})
        [found] = (await tool(searcher)(asked)).findings
        assert not found.found

    async def test_holds_what_begins_later_against_the_answer_and_never_answers_from_it(self) -> None:
        now, then = (
            passage(f"Nhân viên có {days} ngày phép năm.", effective_from=date(year, 1, 1))
            for days, year in (("12", 2026), ("14", 2027))
        )
        searcher = RecordingSearcher({"Phép?": (now,)})
        searcher.upcoming = (then,)
        [found] = (await tool(searcher)(call("Phép?"))).findings
        assert [quote.passage for quote in found.quotes] == [now]
        assert [quote.passage for quote in found.counterparts] == [then], "another version of the same document"
        asked = call("Phép?").model_copy(update={"as_of": date(2026, 5, 1)})
        [on_a_day] = (await tool(searcher)(asked)).findings
        assert on_a_day.counterparts == (), "an answer as of a day speaks of that day alone"

    async def test_tells_which_searches_were_remembered(self) -> None:
        result = await tool(RecordingSearcher(cached=frozenset({"a"})))(call("a", "b"))
        assert [plan.cached for plan in result.searches] == [True, False]

    async def test_does_nothing_without_queries(self) -> None:
        result = await tool(RecordingSearcher())(call())
        assert (result.text, result.findings) == ("", ())

    async def test_works_on_all_queries_at_the_same_time(self) -> None:
        both_inside = asyncio.Barrier(2)

        class MeetingSearcher(RecordingSearcher):
            async def search(
                self,
                principal: Principal,
                query: str,
                *,
                departments: tuple[str, ...] | None,
                limit: int = 8,
                as_of: date | None = None,
                when: When = "in_force",
            ) -> SearchResult:
                if when == "in_force":
                    await both_inside.wait()
                return await super().search(
                    principal, query, departments=departments, limit=limit, as_of=as_of, when=when
                )

        async with asyncio.timeout(5):
            result = await tool(MeetingSearcher())(call("a", "b"))
        assert len(result.findings) == 2

    @pytest.mark.parametrize(
        "outage",
        [
            EmbeddingUnavailable("away"),
            ConnectionResetError(),
            TimeoutError(),
            AppError(ErrorCode.DATABASE_UNAVAILABLE, "away", status=503),
        ],
        ids=lambda outage: type(outage).__name__,
    )
    async def test_asks_for_another_try_when_something_is_away(self, outage: Exception) -> None:
        searcher = RecordingSearcher()
        searcher.failure = outage
        with pytest.raises(ToolRetry) as retry:
            await tool(searcher)(call("a", "b"))
        assert retry.value.__cause__ is outage

    @pytest.mark.parametrize("bug", [ValueError("bug"), AppError(ErrorCode.PERMISSION_DENIED, "no", status=403)])
    async def test_does_not_hide_other_failures(self, bug: Exception) -> None:
        searcher = RecordingSearcher()
        searcher.failure = bug
        with pytest.raises(type(bug)) as raised:
            await tool(searcher)(call("a"))
        assert raised.value is bug

    async def test_one_failing_query_ends_the_others(self) -> None:
        ended: list[str] = []

        class SlowReasoner(RecordingReasoner):
            async def answer(self, request: AnswerRequest) -> Finding:
                if request.query == "fails":
                    raise ConnectionResetError
                try:
                    await asyncio.sleep(60)
                finally:
                    ended.append(request.query)
                return finding()

        with pytest.raises(ToolRetry):
            await tool(RecordingSearcher(), SlowReasoner())(call("slow", "fails"))
        assert ended == ["slow"]

    def test_nothing_stands_in_for_the_documents(self) -> None:
        assert RagTool.alternative is None
