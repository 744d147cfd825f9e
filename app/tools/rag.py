"""`rag_tool`: answer each query from the documents the asker may read."""

from app.claims.kinds import counterparts_of, current_versions
from app.domain.knowledge import Finding, Passage, SearchPlan, SearchResult, When
from app.reasoning import AnswerRequest, Reasoner
from app.tools.base import Searcher, ToolCall, ToolResult, outages_as_retry, side_by_side

PASSAGE_LIMIT = 16
"""Passages a query is answered from."""


class RagTool:
    """Finds passages in the company's documents and answers from them with exact quotes."""

    name = "rag_tool"
    alternative: str | None = None
    """None: when the documents cannot be read, nothing else can stand in for them."""

    def __init__(self, retriever: Searcher, reasoner: Reasoner, min_relevance_score: float):
        self._retriever = retriever
        self._reasoner = reasoner
        self._min_relevance_score = min_relevance_score

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Answer all queries side by side; one finding a query, also where nothing was found.

        Raises `ToolRetry` when the database or the embedding model cannot be reached.
        """
        answered = await side_by_side([self._answer(call, index, query) for index, query in call.queries])
        findings = tuple(finding for finding, _ in answered)
        searches = tuple(plan for _, plan in answered)
        return ToolResult(
            text="\n".join(finding.answer for finding in findings if finding.found),
            findings=findings,
            searches=searches,
        )

    async def _answer(self, call: ToolCall, index: int, query: str) -> tuple[Finding, SearchPlan]:
        with outages_as_retry("The document search"):
            finding, found = await self._read(call, index, query)
            if (finding.is_closest or not finding.found) and call.as_of is None:
                other, others = await self._read(call, index, query, when="otherwise")
                if other.found and other.confidence > finding.confidence:
                    finding, found = other.model_copy(update={"is_closest": True, "not_in_force": True}), others
            later: tuple[Passage, ...] = ()
            if finding.found and not finding.not_in_force and call.as_of is None:
                later = (await self._search(call, query, "upcoming")).passages
        beside = (*finding.counterparts, *counterparts_of(finding.quotes, found.passages))
        beside += counterparts_of(finding.quotes, later)
        return finding.model_copy(update={"counterparts": tuple(dict.fromkeys(beside))}), found.plan

    async def _search(self, call: ToolCall, query: str, when: When) -> SearchResult:
        return await self._retriever.search(
            call.principal, query, departments=call.departments or None, limit=PASSAGE_LIMIT, as_of=call.as_of,
            when=when,
        )  # fmt: skip

    async def _read(
        self, call: ToolCall, index: int, query: str, *, when: When = "in_force"
    ) -> tuple[Finding, SearchResult]:
        found = await self._search(call, query, when)
        finding = await self._reasoner.answer(
            AnswerRequest(
                query=query,
                language=call.language,
                agent=call.agent,
                index=index,
                passages=current_versions(found.passages),
                min_relevance_score=self._min_relevance_score,
                instructions=call.instructions,
                is_strict=call.is_strict,
                today=call.as_of or call.now.date(),
                department=call.principal.department,
            )
        )
        return finding, found
