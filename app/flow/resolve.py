"""Node 4, conflict resolution: weigh sources that disagree by domain, scope, recency and relevance (§4 of the flow).

``score = Σ weight × factor``, each factor in 0–1, weights from the settings; the higher score holds when the margin
reaches ``conflict_resolution_threshold``, else both sides are shown. Everything that was weighed is in the trace.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langgraph.runtime import Runtime

from app.domain.knowledge import Evidence, Finding, Language, Passage
from app.domain.links import LinkGuard
from app.flow.claims import Claim, Disagreement, disagreements
from app.flow.state import FlowLimits, RunContext, RunState
from app.flow.trace import findings_of, recency_of
from app.flow.wording import reason_for
from app.reasoning import AnswerRequest, Reasoner, ResolvedPoint

_AS_SURE = 0.8
"""Share of the surest agent's confidence that another agent's finding for the same query needs."""
_OUT_OF_DOMAIN = 0.5
"""Domain factor of a source outside any special department; a specialised department counts 1."""


@dataclass(frozen=True)
class Weighed:
    """A claim with its four factors (0–1) and their weighted sum."""

    claim: Claim
    factors: dict[str, float]
    score: float


@dataclass(frozen=True)
class Verdict:
    """A disagreement after weighing."""

    winner: Weighed
    loser: Weighed
    threshold: float
    """The margin from which the winner holds."""

    @property
    def decided(self) -> bool:
        """Whether the winner holds; otherwise both sides are shown."""
        return self.margin >= self.threshold

    @property
    def margin(self) -> float:
        """How far the winner leads, to four decimals (binary noise must not decide)."""
        return round(self.winner.score - self.loser.score, 4)


async def resolve(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Weigh what disagrees among the outcomes; the verdicts go to the composer, the figures to the trace."""
    context, clock = runtime.context, time.perf_counter()
    findings = surest(findings_of(context.outcomes))
    fallback = {name for name in context.ports.agents.names if context.ports.agents.spec(name).is_fallback}
    verdicts = [judge(found, context.limits, fallback) for found in disagreements(findings)]
    language = state["classification"].language
    settled = await without_losers(
        findings, verdicts, context.ports.reasoner, language, context.limits.min_relevance_score
    )
    points = tuple(_point(verdict, language) for verdict in verdicts)
    context.trace.resolver(
        round((time.perf_counter() - clock) * 1000),
        context.limits.rules.resolution_strategy,
        sum(1 for verdict in verdicts if verdict.decided),
        _published(verdicts, context.limits),
    )
    return {
        "findings": settled,
        "evidence": cited(findings),
        "conflicts": points,
        "verdicts": tuple(_told(verdict) for verdict in verdicts),
    }


def surest(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Without the findings of agents that are far less sure of a query than another agent: they only add noise."""
    best: dict[str, float] = {}
    for finding in findings:
        best[finding.query] = max(best.get(finding.query, 0.0), finding.confidence)
    return tuple(f for f in findings if not f.found or f.confidence >= _AS_SURE * best[f.query])


def cited(findings: Sequence[Finding]) -> tuple[Evidence, ...]:
    """One evidence a url, most relevant first; the losing side of a conflict stays in, since the answer names it."""
    best: dict[str, Evidence] = {}
    for evidence in (evidence for finding in findings if finding.found for evidence in finding.evidence):
        known = best.get(evidence.url)
        if known is None or known.relevance_score < evidence.relevance_score:
            best[evidence.url] = evidence
    return tuple(sorted(best.values(), key=lambda evidence: -evidence.relevance_score))


def judge(found: Disagreement, limits: FlowLimits, fallback_departments: set[str]) -> Verdict:
    """Weigh both sides; of equal ones the document that took effect later is named first, undecided.

    Recency counts from the newer of the two, not from today: an old policy and a still older one differ as much as a
    new and an old one do.
    """
    newest = max(_effective(claim.quote.passage) for claim in (found.one, found.other))
    sides = [weigh(claim, limits, fallback_departments, newest) for claim in (found.one, found.other)]
    winner, loser = sorted(sides, key=lambda side: (side.score, _effective(side.claim.quote.passage)), reverse=True)
    return Verdict(winner, loser, limits.conflict_resolution_threshold)


def weigh(claim: Claim, limits: FlowLimits, fallback_departments: set[str], newest: datetime) -> Weighed:
    """The published formula for one source."""
    passage, rules = claim.quote.passage, limits.rules
    general = passage.department in fallback_departments
    factors = {
        "domain": _OUT_OF_DOMAIN if general else 1.0,
        "scope": rules.priority_by_scope[passage.scope],
        "recency": rules.priority_by_recency[recency_of(_effective(passage), newest)],
        "relevance": passage.relevance_score,
    }
    score = sum(limits.weights[name] * factor for name, factor in factors.items())
    return Weighed(claim, factors, round(score, 4))


async def without_losers(
    findings: tuple[Finding, ...], verdicts: list[Verdict], reasoner: Reasoner, language: Language, least: float
) -> tuple[Finding, ...]:
    """Findings that no longer state what was overruled: answered again from the passages that hold.

    A finding all of whose quotes were overruled is dropped; the conflict note still cites it.
    """
    overruled = {verdict.loser.claim.quote.passage.chunk_id for verdict in verdicts if verdict.decided}
    settled: list[Finding] = []
    for finding in findings:
        kept = {q.passage.chunk_id: q.passage for q in finding.quotes if q.passage.chunk_id not in overruled}
        if len(kept) == len({q.passage.chunk_id for q in finding.quotes}):
            settled.append(finding)
        elif kept:
            request = AnswerRequest(
                query=finding.query, language=language, agent=finding.agent, index=finding.index,
                passages=tuple(kept.values()), min_relevance_score=least,
            )  # fmt: skip
            settled.append(await reasoner.answer(request))
    return tuple(settled)


def _effective(passage: Passage) -> datetime:
    """When the passage's document began to hold."""
    if passage.effective_from is None:
        return passage.created_at
    return datetime.combine(passage.effective_from, datetime.min.time(), UTC)


def _point(verdict: Verdict, language: Language) -> ResolvedPoint:
    winner, loser = verdict.winner.claim, verdict.loser.claim
    return ResolvedPoint(
        subject=winner.query,
        winner=_said(winner),
        loser=_said(loser),
        winner_title=winner.quote.passage.title,
        loser_title=loser.quote.passage.title,
        reason=reason_for(verdict.winner.factors, verdict.loser.factors, winner.quote.passage, language),
        decided=verdict.decided,
    )


def _said(claim: Claim) -> str:
    """A claim as it is shown."""
    return _shown(claim.sentence, claim.quote.passage)


def _shown(text: str, passage: Passage) -> str:
    """Words of a passage or its title: they are a document's, and may hold addresses of others."""
    return LinkGuard((passage.address,), known_text=f"{passage.title}\n{passage.text}").clean(text)


def _published(verdicts: list[Verdict], limits: FlowLimits) -> dict[str, Any]:
    return {
        "weights": limits.weights,
        "threshold": limits.conflict_resolution_threshold,
        "rules": limits.rules.model_dump(),
        "conflicts": [_told(verdict) for verdict in verdicts],
    }


def _told(verdict: Verdict) -> dict[str, Any]:
    return {
        "winner": _side(verdict.winner),
        "loser": _side(verdict.loser),
        "margin": verdict.margin,
        "decided": verdict.decided,
    }


def _side(weighed: Weighed) -> dict[str, Any]:
    passage = weighed.claim.quote.passage
    return {
        "url": passage.url,
        "title": _shown(passage.title, passage),
        "department": passage.department,
        "claim": _said(weighed.claim),
        "score": weighed.score,
        "factors": {name: round(factor, 4) for name, factor in weighed.factors.items()},
    }
