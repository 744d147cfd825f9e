"""Small ports that answer what a test tells them to and remember what they were asked."""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, NoReturn

from app.domain.knowledge import Finding, Language, Passage, SearchPlan, SearchResult, When
from app.domain.plan import Plan
from app.domain.principal import Principal
from app.domain.tasks import Message
from app.reasoning import (
    AgentOffer,
    AnswerRequest,
    Arguments,
    Classification,
    ComposeRequest,
    Composition,
    PlanRequest,
    Review,
    Summary,
)
from app.tools.base import ToolCall
from tests.factories import NOW, finding, principal


def call(
    *queries: str,
    language: Language = "vi",
    findings: tuple[Finding, ...] = (),
    refined_query: str | None = None,
    asker: Principal | None = None,
    agent: str = "hr",
    departments: tuple[str, ...] = ("hr",),
    as_of: date | None = None,
    now: datetime = NOW,
) -> ToolCall:
    return ToolCall(
        principal=asker or principal(),
        agent=agent,
        departments=departments,
        message="",
        queries=tuple(enumerate(queries, 1)),
        refined_query=queries[0] if refined_query is None and queries else refined_query or "",
        language=language,
        findings=findings,
        as_of=as_of,
        now=now,
        until=math.inf,
    )


def nothing_asked(what: str) -> NoReturn:
    raise AssertionError(f"{what} was not expected to be asked")


class RecordingReasoner:
    """Answers each query by quoting its passages whole; summaries and arguments are given by the test."""

    def __init__(
        self,
        *,
        summary: Summary | None = None,
        arguments: Arguments | Exception | None = None,
    ):
        self.answered: list[AnswerRequest] = []
        self.summarised: list[tuple[str, tuple[Finding, ...], Language]] = []
        self.argued: list[tuple[str, str, tuple[Finding, ...], Language]] = []
        self._summary = summary
        self._arguments = arguments or Arguments(values={})

    async def answer(self, request: AnswerRequest) -> Finding:
        self.answered.append(request)
        return finding(*request.passages, agent=request.agent, index=request.index, query=request.query)

    async def summarise(self, query: str, findings: Sequence[Finding], language: Language) -> Summary:
        self.summarised.append((query, tuple(findings), language))
        return self._summary or Summary(lines=(), sources=())

    async def arguments(
        self,
        tool: str,
        query: str,
        findings: Sequence[Finding],
        language: Language,
        schema: Mapping[str, Any] | None = None,
        refused: str = "",
    ) -> Arguments:
        self.argued.append((tool, query, tuple(findings), language))
        if isinstance(self._arguments, Exception):
            raise self._arguments
        return self._arguments

    @property
    def identity(self) -> str:
        return "recording"

    async def classify(
        self,
        query: str,
        history: Sequence[Message],
        agents: Sequence[AgentOffer],
        *,
        today: date | None = None,
        department: str = "",
    ) -> Classification:
        nothing_asked("classify")

    async def plan(self, request: PlanRequest) -> Plan:
        nothing_asked("plan")

    async def review_plan(self, plan: Plan, request: PlanRequest) -> Review:
        nothing_asked("review_plan")

    async def review_finding(self, finding: Finding, language: Language) -> Review:
        nothing_asked("review_finding")

    def compose(self, request: ComposeRequest) -> AsyncIterator[str | Composition]:
        nothing_asked("compose")


class RecordingSearcher:
    """Finds the passages the test gives for a query; may fail instead."""

    def __init__(self, passages: dict[str, tuple[Passage, ...]] | None = None, *, cached: frozenset[str] = frozenset()):
        self.searched: list[tuple[str, tuple[str, ...] | None, int, date | None]] = []
        self.failure: Exception | None = None
        self.not_in_force: tuple[Passage, ...] = ()
        self.upcoming: tuple[Passage, ...] = ()
        self._passages = passages or {}
        self._cached = cached

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
        if self.failure:
            raise self.failure
        if when == "in_force":
            self.searched.append((query, departments, limit, as_of))
        plan = SearchPlan(
            strategy="exact", embedding_model="test", legs={"vector": 1.0}, unaccented=False, candidates=1,
            duration_ms=1.0, cached=query in self._cached,
        )  # fmt: skip
        others = self.not_in_force if when == "otherwise" else self.upcoming
        passages = self._passages.get(query, ()) if when == "in_force" else others
        return SearchResult(query=query, passages=passages, plan=plan)


SATURDAY = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
"""16:30 of the same day in Vietnam."""
