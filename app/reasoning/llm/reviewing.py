"""A second opinion on plans and findings the rules have approved, and proposals of what quotes claim.

A proposed claim is held by `app.claims` against the words it quotes before anything is compared."""

from collections.abc import Sequence

from app.claims.proposed import ProposedClaim
from app.domain.knowledge import Finding, Language, Quote
from app.domain.plan import Plan
from app.reasoning import PlanRequest, Review
from app.reasoning.llm import telling
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.shapes import ClaimsShape, ReviewShape
from app.reasoning.llm.structured import Question, ask
from app.text.language import clean

_MAX_TOKENS = 120
_SHARE = 0.3


async def plan_reviewed(ladder: Ladder, plan: Plan, request: PlanRequest) -> Review:
    """Whether the plan covers the question. Raises `ModelFailed`."""
    language = request.classification.language
    return await _reviewed(ladder, telling.plan(plan, request.classification.refined_query), language)


async def finding_reviewed(ladder: Ladder, finding: Finding, language: Language) -> Review:
    """Whether the quotes support the answer. Raises `ModelFailed`."""
    return await _reviewed(ladder, telling.findings(finding.query, [finding]), language)


async def _reviewed(ladder: Ladder, told: str, language: Language) -> Review:
    reply = await ask(ladder, Question("review", language, told, ReviewShape, _MAX_TOKENS, _SHARE))
    return Review(approved=reply.approved, reason="" if reply.approved else clean(reply.reason).strip())


_CLAIMING_MAX_TOKENS = 900
_QUOTES = 16
"""Told to the model; what lies behind them is left to the rules."""


async def claimed(
    ladder: Ladder, quotes: Sequence[tuple[str, Quote]], language: Language
) -> tuple[tuple[ProposedClaim, ...], ...]:
    """The claims of each quote, in the quotes' order. Raises `ModelFailed`."""
    told = telling.quotes(quotes[:_QUOTES])
    reply = await ask(ladder, Question("claims", language, told, ClaimsShape, _CLAIMING_MAX_TOKENS, _SHARE))
    found: list[list[ProposedClaim]] = [[] for _ in quotes]
    for one in reply.claims:
        if 1 <= one.n <= min(len(quotes), _QUOTES):
            proposed = ProposedClaim(
                quote=clean(one.quote), subject=clean(one.subject), attribute=clean(one.attribute),
                value=clean(one.value), polarity=one.polarity,
            )  # fmt: skip
            found[one.n - 1].append(proposed)
    return tuple(map(tuple, found))
