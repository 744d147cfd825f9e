"""Checking plans before they run and findings before they are believed."""

import re
from decimal import Decimal
from functools import reduce
from operator import or_

from app.domain.knowledge import Finding, Language
from app.domain.plan import ORCHESTRATOR, SUMMARY_TOOL, Plan
from app.reasoning import PlanRequest, Review
from app.reasoning.local.cues import sentences
from app.reasoning.local.numbers import numbers_of
from app.reasoning.local.terms import EMPTY, bag_of, share_in

_COVERED = 0.6
"""Share of a sub-query's weight the plan's queries must mention."""
_NUMBERING_OR_RESULT = re.compile(r"^\s*\d{1,2}[.)]\s|[=≈]\s*[£$€]?[\d.,]+", re.MULTILINE)
"""Numbers of list items, and results of calculations: they are made here, not quoted."""
_APPROVED = Review(approved=True)


def review_plan(plan: Plan, request: PlanRequest) -> Review:
    """Refuses what is not on offer and sub-queries nobody is asked; whoever plans limits the queries itself."""
    reasons = sentences("review", request.classification.language)
    offered = {offer.name: offer.tools for offer in request.agents}
    for agent, tool in ((planned.step.agent, planned.step.tool) for planned in plan.steps):
        if tool not in offered.get(agent, {}) and (agent, tool) != (ORCHESTRATOR, SUMMARY_TOOL):
            return Review(approved=False, reason=reasons["offer"].format(agent=agent, tool=tool))
    queries = [query for agent_plan in plan.agents.values() for query in agent_plan.queries]
    told = reduce(or_, map(bag_of, queries), EMPTY)
    for wanted in request.classification.sub_queries:
        if wanted not in queries and share_in(wanted, told) < _COVERED:
            return Review(approved=False, reason=reasons["uncovered"].format(query=wanted))
    return _APPROVED


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
