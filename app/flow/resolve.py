"""Node 4, conflict resolution: weigh sources that disagree by domain, scope, recency and relevance (§4 of the flow).

``score = Σ weight × factor``, each factor in 0–1, weights from the settings; the higher score holds when the margin
reaches ``conflict_resolution_threshold``, else both sides are shown. Two conflicts are no matter of weight: the later
version of a page replaces the earlier one, and what has ended gives way to what holds. Everything that was weighed is
in the trace.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from langgraph.runtime import Runtime

from app.domain.claims import Validity
from app.domain.claims.kinds import ConflictKind, effective, ended_first
from app.domain.evidence import evidence_of
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


Rule = Literal["weighted_scoring", "later_version", "validity"]
"""What decides: the weights, which version of one page is the later, or which side's validity has ended."""
_RULES: dict[str, Rule] = {"later_version": "later_version", "validity_ended": "validity"}
"""By the reason of the conflict's type; all others are weighed."""


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
    kind: ConflictKind
    rule: Rule = "weighted_scoring"

    @property
    def decided(self) -> bool:
        """Whether the winner holds; otherwise both sides are shown."""
        return self.rule != "weighted_scoring" or self.margin >= self.threshold

    @property
    def margin(self) -> float:
        """How far the winner leads, to four decimals (binary noise must not decide); a rule may choose the lighter."""
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
    points = tuple(_point(verdict, language) for verdict in verdicts if verdict.loser.claim.sentence)
    context.trace.resolver(
        round((time.perf_counter() - clock) * 1000),
        context.limits.rules.resolution_strategy,
        sum(1 for verdict in verdicts if verdict.decided),
        _published(verdicts, context.limits),
    )
    return {
        "findings": settled,
        "evidence": cited(findings, verdicts),
        "conflicts": points,
        "verdicts": tuple(_told(verdict) for verdict in verdicts),
    }


def surest(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Without the findings of agents that are far less sure of a query than another agent: they only add noise."""
    best: dict[str, float] = {}
    for finding in findings:
        best[finding.query] = max(best.get(finding.query, 0.0), finding.confidence)
    return tuple(f for f in findings if not f.found or f.confidence >= _AS_SURE * best[f.query])


def cited(findings: Sequence[Finding], verdicts: Sequence[Verdict] = ()) -> tuple[Evidence, ...]:
    """One evidence a url, most relevant first; both sides of a conflict are in it, since the answer names them."""
    best: dict[str, Evidence] = {}
    weighed = evidence_of([side.claim.quote for verdict in verdicts for side in (verdict.winner, verdict.loser)])
    for evidence in (evidence for finding in findings if finding.found for evidence in finding.evidence):
        known = best.get(evidence.url)
        if known is None or known.relevance_score < evidence.relevance_score:
            best[evidence.url] = evidence
    for evidence in weighed:
        best.setdefault(evidence.url, evidence)
    return tuple(sorted(best.values(), key=lambda evidence: -evidence.relevance_score))


def judge(found: Disagreement, limits: FlowLimits, fallback_departments: set[str]) -> Verdict:
    """Weigh both sides; of equal ones the document that took effect later is named first, undecided.

    Recency counts from the newer of the two, not from today: an old policy and a still older one differ as much as a
    new and an old one do. Which side was found first changes nothing.
    """
    newest = max(effective(claim.quote.passage) for claim in (found.one, found.other))
    sides = [weigh(claim, limits, fallback_departments, newest) for claim in (found.one, found.other)]
    rule = _RULES.get(found.kind.reason, "weighted_scoring")
    winner, loser = sorted(sides, key=_ORDERS[rule], reverse=True)
    if rule == "validity" and ended_first(_passage(winner), _passage(loser), _validity(winner), _validity(loser)):
        winner, loser = loser, winner
    return Verdict(winner, loser, limits.conflict_resolution_threshold, found.kind, rule)


def _by_score(side: Weighed) -> tuple[object, ...]:
    return side.score, *_by_age(side)


def _by_age(side: Weighed) -> tuple[object, ...]:
    """The document's own id decides between documents of one day, so that the order they came in does not."""
    return effective(_passage(side)), str(_passage(side).document_id), side.claim.sentence


_ORDERS = {"weighted_scoring": _by_score, "later_version": _by_age, "validity": _by_age}


def _passage(side: Weighed) -> Passage:
    return side.claim.quote.passage


def _validity(side: Weighed) -> Validity:
    return side.claim.stated.validity


def weigh(claim: Claim, limits: FlowLimits, fallback_departments: set[str], newest: datetime) -> Weighed:
    """The published formula for one source."""
    passage, rules = claim.quote.passage, limits.rules
    general = passage.department in fallback_departments
    factors = {
        "domain": _OUT_OF_DOMAIN if general else 1.0,
        "scope": rules.priority_by_scope[passage.scope],
        "recency": rules.priority_by_recency[recency_of(effective(passage), newest)],
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
        said = (*finding.quotes, *finding.counterparts)
        kept = {q.passage.chunk_id: q.passage for q in said if q.passage.chunk_id not in overruled}
        if not overruled & {q.passage.chunk_id for q in finding.quotes}:
            settled.append(finding)
        elif kept:
            request = AnswerRequest(
                query=finding.query, language=language, agent=finding.agent, index=finding.index,
                passages=tuple(kept.values()), min_relevance_score=least,
            )  # fmt: skip
            again = await reasoner.answer(request)
            settled.append(again if again.found else told_by_winners(finding, verdicts))
    return tuple(settled)


def told_by_winners(finding: Finding, verdicts: Sequence[Verdict]) -> Finding:
    """The finding in the words of the sides that hold, where nobody is sure enough to answer from them alone."""
    decided = [verdict for verdict in verdicts if verdict.decided and verdict.winner.claim.sentence]
    quotes = tuple(dict.fromkeys(verdict.winner.claim.quote for verdict in decided if _is_about(finding, verdict)))
    return finding.model_copy(
        update={
            "answer": "\n".join(quote.text for quote in quotes),
            "found": bool(quotes),
            "quotes": quotes,
            "evidence": evidence_of(quotes),
            "counterparts": (),
        }
    )


def _is_about(finding: Finding, verdict: Verdict) -> bool:
    said = (*finding.quotes, *finding.counterparts)
    return verdict.winner.claim.quote in said and verdict.loser.claim.quote in said


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
        "conflict_type": verdict.kind.type,
        "reason": verdict.kind.reason,
        "rule": verdict.rule,
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
