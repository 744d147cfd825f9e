"""A second opinion on plans and findings; the rules have approved them already."""

from app.domain.knowledge import Finding, Language
from app.domain.plan import Plan
from app.reasoning import PlanRequest, Review
from app.reasoning.llm import telling
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.prompts import load
from app.reasoning.llm.shapes import ReviewShape
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
    question = Question("review", load("review", language), told, ReviewShape, _MAX_TOKENS, language, share=_SHARE)
    reply = await ask(ladder, question)
    return Review(approved=reply.approved, reason="" if reply.approved else clean(reply.reason).strip())
