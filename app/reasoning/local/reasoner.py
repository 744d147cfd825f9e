"""`LocalReasoner`: the port of everything that needs a mind, done without a language model."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from app import __version__
from app.domain.knowledge import Finding, Language, Passage
from app.domain.plan import Plan
from app.domain.tasks import Message
from app.embedding import Embedder
from app.embedding.cached import StoredVectors
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
from app.reasoning.local.answer import answer, review_finding
from app.reasoning.local.arguments import arguments
from app.reasoning.local.classify import classify
from app.reasoning.local.compose import compose
from app.reasoning.local.plain_reader import PlainReader
from app.reasoning.local.plan import plan, review_plan
from app.reasoning.local.rendering import summarise
from app.reasoning.local.routing import Router, elsewhere


class LocalReasoner:
    """Embeddings, lexical rules and the passages themselves; Vietnamese and English. Implements `Reasoner`."""

    def __init__(self, embedder: Embedder, cache_dir: Path | None = None):
        """`cache_dir` keeps the vectors of exemplars between processes."""
        self._embedder = embedder
        self._kept = StoredVectors(embedder, cache_dir)
        self._reader = PlainReader(embedder)
        self._router = Router(embedder, self._kept)

    async def warm(self, agents: Iterable[Sequence[str]] = ()) -> None:
        """Make the exemplars' vectors now (a second or two, nothing when kept) instead of at the first question.

        Args:
            agents: The exemplars of each agent.
        """
        for exemplars in (elsewhere(), *agents):
            await self._kept.of(exemplars)

    @property
    def identity(self) -> str:
        """The rules of this release and the model that measures likeness."""
        return f"local/{__version__}/{self._reader.identity}"

    async def classify(
        self, query: str, history: Sequence[Message], agents: Sequence[AgentOffer], *, today: date | None = None,
        department: str = "",
    ) -> Classification:  # fmt: skip
        """Small talk, a plain question or a task; with the history resolved and the separate questions inside."""
        return await classify(query, history, agents, today, self._embedder)

    async def plan(self, request: PlanRequest) -> Plan:
        """Agents by what they are for and by where the evidence lives; tools and tiers by rule."""
        return await plan(request, self._router)

    async def review_plan(self, plan: Plan, request: PlanRequest) -> Review:
        """Whether the plan covers the question with what is on offer."""
        return review_plan(plan, request)

    async def review_finding(self, finding: Finding, language: Language) -> Review:
        """Whether a finding is grounded in its quotes."""
        return review_finding(finding, language)

    async def answer(self, request: AnswerRequest) -> Finding:
        """Exact quotes that answer the query, or nothing found."""
        return await answer(request, self._reader)

    async def supports(self, statement: str, passages: Sequence[Passage]) -> Sequence[float]:
        """How likely passages say what a statement says: together, then each by itself."""
        return await self._reader.supports(statement, passages)

    async def summarise(self, query: str, findings: Sequence[Finding], language: Language) -> Summary:
        """The most telling spans of the findings."""
        return summarise(query, findings)

    async def arguments(
        self,
        tool: str,
        query: str,
        findings: Sequence[Finding],
        language: Language,
        schema: Mapping[str, Any] | None = None,
        refused: str = "",
    ) -> Arguments:
        """Arguments of ``math_tool`` and ``log_tool``, and of others by their schema."""
        return arguments(tool, query, findings, language, schema)

    def compose(self, request: ComposeRequest) -> AsyncIterator[str | Composition]:
        """The answer's text in pieces, then the whole composition."""
        return compose(request)
