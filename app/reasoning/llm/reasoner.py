"""`ModelReasoner`: the port of everything that needs a mind, asked of a language model, with the rules behind it.

`classify` and `compose` are calls. Between them the rules work (``extractive``), or the model answers every query
(``model``).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date
from typing import Any, Literal

from app.claims.proposed import ProposedClaim
from app.domain.knowledge import Finding, Language, Quote
from app.domain.plan import Plan
from app.domain.tasks import Message
from app.reasoning import (
    AgentOffer,
    AnswerRequest,
    Arguments,
    Classification,
    ComposeRequest,
    Composition,
    PlanRequest,
    Reasoner,
    Review,
    Summary,
)
from app.reasoning.llm import answering, planning, prompts
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.structured import or_else

AnswerMode = Literal["extractive", "model"]
_TO_COMPARE = 2


class ModelReasoner:
    """Implements `Reasoner`. Every method may do I/O; none raises for what a model says or fails to say."""

    def __init__(self, ladder: Ladder, rules: Reasoner, *, answer_mode: AnswerMode = "extractive"):
        """`rules` does what no model is asked and what no model could do."""
        self._ladder, self._rules, self.answer_mode = ladder, rules, answer_mode

    @property
    def identity(self) -> str:
        """Models, prompts and mode, and the rules behind them."""
        models = "+".join(self._ladder.models)
        return f"llm/{models}/{prompts.digest()}/{self.answer_mode}/{self._rules.identity}"

    async def classify(
        self, query: str, history: Sequence[Message], agents: Sequence[AgentOffer], *, today: date | None = None
    ) -> Classification:
        """One call: small talk or question, the question made complete, and who is asked what."""
        by_rule = await self._rules.classify(query, history, agents, today=today)
        asked = planning.classified(self._ladder, query, history, agents, by_rule)
        refused = by_rule.model_copy(update={"kind": "refused"})
        return await or_else("plan", asked, lambda failure: refused if failure.is_refusal else by_rule)

    async def plan(self, request: PlanRequest) -> Plan:
        """Tiers by rule over the assignments of `classify`; a plan that was refused is proposed anew by the model."""
        if request.feedback and request.classification.assignments:
            again = planning.proposed_again(self._ladder, request)
            unassigned = request.classification.model_copy(update={"assignments": ()})
            classification = await or_else("plan", again, lambda _: unassigned)
            request = request.model_copy(update={"classification": classification})
        return await self._rules.plan(request)

    async def review_plan(self, plan: Plan, request: PlanRequest) -> Review:
        """The rules' verdict."""
        return await self._rules.review_plan(plan, request)

    async def review_finding(self, finding: Finding, language: Language) -> Review:
        """The rules' verdict."""
        return await self._rules.review_finding(finding, language)

    async def answer(self, request: AnswerRequest) -> Finding:
        """An answer with literal quotes, or that nothing was found."""
        if self.answer_mode == "extractive" or not request.passages:
            return await self._rules.answer(request)
        return await or_else(
            "answer",
            answering.answered(self._ladder, request),
            lambda failure: answering.nothing_found(request) if failure.is_refusal else self._rules.answer(request),
        )

    async def claims(
        self, quotes: Sequence[tuple[str, Quote]], language: Language
    ) -> tuple[tuple[ProposedClaim, ...], ...]:
        """One call for all quotes where several documents are quoted; in mode ``extractive`` the rules read alone."""
        documents = {quote.passage.document_id for _, quote in quotes}
        if self.answer_mode == "extractive" or len(documents) < _TO_COMPARE:
            return ()
        return await or_else("claims", answering.claimed(self._ladder, quotes, language), lambda _: ())

    async def summarise(self, query: str, findings: Sequence[Finding], language: Language) -> Summary:
        """The rules' gist of findings."""
        return await self._rules.summarise(query, findings, language)

    async def arguments(
        self, tool: str, query: str, findings: Sequence[Finding], language: Language,
        schema: Mapping[str, Any] | None = None,
    ) -> Arguments:  # fmt: skip
        """The rules' arguments; where they find none, or for a tool with a schema not all, the model's."""
        by_rule = await self._rules.arguments(tool, query, findings, language, schema)
        complete = bool(by_rule.values) if schema is None else not by_rule.missing
        if complete or (schema is None and self.answer_mode == "extractive"):
            return by_rule
        asked = answering.arguments_read(self._ladder, tool, query, findings, language, schema)
        return await or_else("arguments", asked, lambda _: by_rule)

    async def compose(self, request: ComposeRequest) -> AsyncIterator[str | Composition]:
        """The model's text as it comes, in whole statements; outcome, confidence and further questions by rule."""
        async for piece in answering.composed(self._ladder, self._rules, request):
            yield piece
