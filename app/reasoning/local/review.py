"""Checking plans before they run and findings before they are believed."""

import re
from decimal import Decimal

from app.domain.knowledge import Finding, Language
from app.domain.plan import ORCHESTRATOR, SUMMARY_TOOL, Plan
from app.reasoning import PlanRequest, Review
from app.reasoning.local.cues import sentences
from app.reasoning.local.numbers import numbers_of
from app.reasoning.local.terms import EMPTY, bag_of, coverage, terms_of

_COVERED = 0.6
"""Share of a sub-query's weight the plan's queries must mention."""
_NUMBERING_OR_RESULT = re.compile(r"^\s*\d{1,2}[.)]\s|[=≈]\s*[£$€]?[\d.,]+", re.MULTILINE)
"""Numbers of list items, and results of calculations: they are made here, not quoted."""
_APPROVED = Review(approved=True)


def review_plan(plan: Plan, request: PlanRequest) -> Review:
    """Refuses what is not on offer, sub-queries nobody is asked, agents without a step, and too many queries."""
    language = request.classification.language
    for refused in (_beyond_offer(plan, request), _overloaded(plan, request), _idle(plan), _uncovered(plan, request)):
        if refused is not None:
            name, values = refused
            return Review(approved=False, reason=sentences("review", language)[name].format(**values))
    return _APPROVED


_Refusal = tuple[str, dict[str, str]]


def _beyond_offer(plan: Plan, request: PlanRequest) -> _Refusal | None:
    offered = {offer.name: offer.tools for offer in request.agents}
    for planned in plan.steps:
        agent, tool = planned.step.agent, planned.step.tool
        if tool not in offered.get(agent, {}) and (agent, tool) != (ORCHESTRATOR, SUMMARY_TOOL):
            return "offer", {"agent": agent, "tool": tool}
    return None


def _overloaded(plan: Plan, request: PlanRequest) -> _Refusal | None:
    limit = request.max_queries_per_agent
    return next(
        (("many", {"agent": name, "limit": str(limit)}) for name, a in plan.agents.items() if len(a.queries) > limit),
        None,
    )


def _idle(plan: Plan) -> _Refusal | None:
    working = {planned.step.agent for planned in plan.steps if planned.step.tool != SUMMARY_TOOL}
    return next((("idle", {"agent": name}) for name in plan.agents if name not in working), None)


def _uncovered(plan: Plan, request: PlanRequest) -> _Refusal | None:
    queries = [query for agent in plan.agents.values() for query in agent.queries]
    told = EMPTY
    for query in queries:
        told = told | bag_of(query)
    for wanted in request.classification.sub_queries:
        terms = terms_of(wanted)
        if wanted not in queries and coverage(terms, [term.weight for term in terms], told) < _COVERED:
            return "uncovered", {"query": wanted}
    return None


def review_finding(finding: Finding, language: Language) -> Review:
    """Refuses a finding that says nothing though it claims to, quotes what no passage holds, or states new numbers."""
    if not finding.found:
        return _APPROVED
    reasons = sentences("review", language)
    if not finding.answer.strip():
        return Review(approved=False, reason=reasons["empty"])
    for quote in finding.quotes:
        if quote.text not in quote.passage.text and quote.text not in quote.passage.section:
            return Review(approved=False, reason=reasons["unquoted"].format(title=quote.passage.title))
    return _APPROVED if _numbers_are_quoted(finding) else Review(approved=False, reason=reasons["number"])


def _numbers_are_quoted(finding: Finding) -> bool:
    """Numbers of an answer from documents stand in its quotes; computed and counted ones have none to stand in, and
    what lays versions side by side names their days."""
    if not finding.quotes or finding.compares or any(evidence.source_type != "rag" for evidence in finding.evidence):
        return True
    stated = numbers_of(_NUMBERING_OR_RESULT.sub(" ", finding.answer), language_of(finding))
    held = frozenset[Decimal]().union(
        *(numbers_of(f"{quote.passage.text} {quote.passage.section}", language_of(finding)) for quote in finding.quotes)
    )
    return stated <= held


def language_of(finding: Finding) -> Language:
    """The language of what a finding quotes, which decides how its numbers are read."""
    return "en" if finding.quotes and finding.quotes[0].passage.language == "en" else "vi"
