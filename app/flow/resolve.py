"""Node 4, conflict resolution: weigh sources that disagree by domain, scope, recency and relevance (§4 of the flow).

The formula is `app.domain.conflicts`; weights and rules come from the settings. The higher score holds when the margin
reaches ``conflict_resolution_threshold``, else both sides are shown. Three conflicts are no matter of weight: the later
version of a page replaces the earlier one, what has ended or only begins later gives way to what holds, and a person's
verdict about two sentences holds. One record of each is what the trace, the ``conflict_resolved`` event and the ledger
tell.
"""

import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from langgraph.runtime import Runtime

from app.claims.kinds import ConflictKind, effective, ended_first
from app.domain.conflicts import Conflict, Known, Rule, Side, Weighing, by_age, by_score, facts_of, normalised
from app.domain.knowledge import Evidence, Finding, Language, Passage, Quote, evidence_of
from app.errors import AppError, ErrorCode
from app.flow.claims import Claim, Disagreement, disagreements, with_known
from app.flow.state import FlowLimits, RunContext, RunState
from app.flow.wording import findings_of, preference_for, reason_for, recency_of
from app.links import LinkGuard
from app.reasoning import AnswerRequest, Reasoner, ResolvedPoint

_LIKELY = 0.5
_EQUAL = 0.05
"""Readings whose confidences are this near say the same of their documents."""
_RULES: dict[str, Rule] = {
    "later_version": "later_version", "validity_ended": "validity", "starts_later": "starts_later",
}  # fmt: skip
"""By the reason of the conflict's type; all others are weighed."""


@dataclass(frozen=True)
class Verdict:
    """A disagreement after weighing: the two claims, and the record of how they were weighed."""

    winner: Claim
    loser: Claim
    conflict: Conflict

    @property
    def decided(self) -> bool:
        """Whether the winner holds; otherwise both sides are shown."""
        return self.conflict.decided


@dataclass(frozen=True)
class Weighed:
    """Findings after weighing: nothing in `settled` was overruled."""

    settled: tuple[Finding, ...]
    points: tuple[ResolvedPoint, ...]
    """What the answer tells of it."""
    verdicts: tuple[Verdict, ...]


async def resolve(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Weigh what disagrees among the outcomes; the verdicts go to the composer, the figures to the trace."""
    context, clock = runtime.context, time.perf_counter()
    findings = surest(findings_of(context.outcomes), fallback_of(context))
    classified = state["classification"]
    weighed = await weigh(context, findings, classified.language, context.asking.searched_on(classified))
    conflicts = tuple(verdict.conflict for verdict in weighed.verdicts)
    trace_resolution(context, conflicts, round((time.perf_counter() - clock) * 1000))
    return {
        "findings": weighed.settled,
        "evidence": cited(findings, weighed.verdicts),
        "conflicts": weighed.points,
        "verdicts": conflicts,
    }


async def weigh(
    context: RunContext, findings: tuple[Finding, ...], language: Language, on: date | None = None
) -> "Weighed":
    """Hold findings against one another and what is known to differ from them, and take out what was overruled. `on`:
    the day that was searched; None = today."""
    known = await _known(context, findings, on)
    findings = with_known(findings, known)
    fallback, day, limits = fallback_of(context), on or context.asking.today, context.limits
    verdicts = verdicts_on(disagreements(findings, known), limits, fallback, day)
    settled = await without_losers(findings, verdicts, context.ports.reasoner, language, limits.min_relevance_score)
    points = tuple(_point(verdict, language) for verdict in verdicts if _can_be_told(verdict))
    return Weighed(settled, points, tuple(verdicts))


async def _known(context: RunContext, findings: Sequence[Finding], on: date | None) -> list[Known]:
    """What was found about the quoted passages when they arrived; nothing while the database is away."""
    said = [quote.passage for one in findings if one.found for quote in (*one.quotes, *one.counterparts)]
    chunks, asking = {passage.chunk_id for passage in said if passage.is_document}, context.asking
    try:
        return await context.ports.corpus.known(asking.principal, chunks, asking.today, on) if chunks else []
    except AppError as away:
        if away.code is not ErrorCode.DATABASE_UNAVAILABLE:
            raise
        return []


def trace_resolution(context: RunContext, conflicts: Sequence[Conflict], duration_ms: int) -> None:
    """Tell the trace what was weighed."""
    weighing = _weighing(context.limits)
    told = {**weighing.model_dump(), "conflicts": [conflict.as_json() for conflict in conflicts]}
    decided = sum(1 for conflict in conflicts if conflict.decided)
    context.trace.resolver(duration_ms, weighing.rules.resolution_strategy, decided, told)


def fallback_of(context: RunContext) -> frozenset[str]:
    """The agents that answer for what no department is named for."""
    agents = context.ports.agents
    return frozenset(name for name in agents.names if agents.spec(name).is_fallback)


def surest(findings: Sequence[Finding], fallback: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """For each query the best of all agents' readings of documents: they are on one scale. Of equally sure ones that of
    the department the matter belongs to, not the fallback's. Of the others stays what stands against it."""
    readings: dict[str, list[Finding]] = {}
    for finding in filter(_is_reading, findings):
        readings.setdefault(finding.query, []).append(finding)
    best = {query: _best(own, fallback) for query, own in readings.items()}
    sure = [finding for finding in findings if not _is_reading(finding) or finding is best.get(finding.query)]
    return tuple(kept for f in findings if (kept := f if f in sure else _against(f, sure)))


def _best(findings: Sequence[Finding], fallback: frozenset[str]) -> Finding:
    top = max((not finding.is_closest, finding.confidence) for finding in findings)
    near = [one for one in findings if (not one.is_closest) is top[0] and one.confidence >= top[1] - _EQUAL]
    return max(near, key=lambda finding: (finding.agent not in fallback, finding.confidence))


def _is_reading(finding: Finding) -> bool:
    """Whether a finding quotes documents of the company."""
    return finding.found and bool(finding.quotes) and all(one.source_type == "rag" for one in finding.evidence)


def _against(doubtful: Finding, sure: Sequence[Finding]) -> Finding | None:
    """Of a finding that is more likely right than not, the quotes that surer findings of the query disagree with."""
    if doubtful.confidence < _LIKELY:
        return None
    rivals = [finding for finding in sure if finding.found and finding.query == doubtful.query]
    quotes = tuple(quote for quote in doubtful.quotes if any(_opposes(quote, doubtful, rival) for rival in rivals))
    told = {"quotes": quotes, "answer": "\n".join(quote.text for quote in quotes), "evidence": evidence_of(quotes)}
    return doubtful.model_copy(update={**told, "counterparts": ()}) if quotes else None


def _opposes(quote: Quote, finding: Finding, rival: Finding) -> bool:
    alone = finding.model_copy(update={"quotes": (quote,), "counterparts": ()})
    plain = rival.model_copy(update={"counterparts": ()})
    return any(quote in (found.one.quote, found.other.quote) for found in disagreements((alone, plain)))


def cited(findings: Sequence[Finding], verdicts: Sequence[Verdict] = ()) -> tuple[Evidence, ...]:
    """One evidence a url, most relevant first; both sides of a conflict are in it, since the answer names them."""
    best: dict[str, Evidence] = {}
    weighed = evidence_of([side.quote for verdict in verdicts for side in (verdict.winner, verdict.loser)])
    told = (evidence for finding in findings if finding.found for evidence in finding.evidence)
    for evidence in (*sorted(told, key=lambda evidence: -evidence.relevance_score), *weighed):
        best.setdefault(evidence.url, evidence)
    return tuple(sorted(best.values(), key=lambda evidence: -evidence.relevance_score))


def verdicts_on(
    found: Sequence[Disagreement], limits: FlowLimits, fallback_departments: AbstractSet[str], day: date = date.max
) -> list[Verdict]:
    """Judge each; of what no answer tells only that counts which the answer's document holds against."""
    judged = ((one, judge(one, limits, fallback_departments, day)) for one in found)
    return [verdict for one, verdict in judged if one.is_told or (verdict.decided and verdict.winner is one.one)]


def judge(
    found: Disagreement, limits: FlowLimits, fallback_departments: AbstractSet[str], day: date = date.max
) -> Verdict:
    """Weigh both sides; of equal ones the document that took effect later is named first, undecided.

    Recency counts from the newer of the two, not from today: an old policy and a still older one differ as much as a
    new and an old one do. Which side was found first changes nothing. What begins after `day` holds against
    nothing that has begun.
    """
    weighing = _weighing(limits)
    sides = [weighing.side(side) for side in _sides(found, fallback_departments)]
    claims = dict(zip(map(by_age, sides), (found.one, found.other), strict=True))
    upcoming = [side for side in sides if claims[by_age(side)].starts > day]
    kind = found.kind if len(upcoming) != 1 else ConflictKind("none", "starts_later")
    (one, other), ruling = sides, found.ruling
    rule = _RULES.get(kind.reason, "verdict" if ruling else "weighted_scoring")
    if rule == "starts_later":
        winner, loser = (other, one) if one in upcoming else (one, other)
    elif rule == "weighted_scoring":
        winner, loser = by_score(one, other)
    elif rule == "verdict" and ruling:
        winner, loser = (one, other) if one.document_id == ruling.holds else (other, one)
    else:
        winner, loser = sorted((one, other), key=by_age, reverse=True)
        mine, theirs = claims[by_age(winner)], claims[by_age(loser)]
        if rule == "validity" and ended_first(
            mine.quote.passage, theirs.quote.passage, mine.stated.validity, theirs.stated.validity
        ):
            winner, loser = loser, winner
    conflict = Conflict(
        subject=claims[by_age(winner)].query, winner=winner, loser=loser, conflict_type=kind.type, reason=kind.reason,
        rule=rule, weighing=weighing, decided_on=ruling.decided_on if ruling and rule == "verdict" else None,
    )  # fmt: skip
    return Verdict(claims[by_age(winner)], claims[by_age(loser)], conflict)


def _weighing(limits: FlowLimits) -> Weighing:
    weights, threshold = normalised(limits.weights), limits.conflict_resolution_threshold
    return Weighing(weights=weights, threshold=threshold, rules=limits.rules)


def _sides(found: Disagreement, fallback_departments: AbstractSet[str]) -> list[Side]:
    """Both sources, not weighed yet."""
    passages = [claim.quote.passage for claim in (found.one, found.other)]
    newest = max(map(effective, passages))
    return [
        facts_of(
            passage, effective=effective(passage), recency=recency_of(effective(passage), newest),
            title=_clean_text(passage.title, passage), claim=_clean_text(claim.sentence, passage),
            is_general=passage.department in fallback_departments,
        )
        for passage, claim in zip(passages, (found.one, found.other), strict=True)
    ]  # fmt: skip


async def without_losers(
    findings: tuple[Finding, ...], verdicts: Sequence[Verdict], reasoner: Reasoner, language: Language, least: float
) -> tuple[Finding, ...]:
    """Findings that no longer state what was overruled: what holds stands in its place.

    Where no side can, it is answered again from the passages that are left. A finding without any is dropped; the
    conflict note still cites it.
    """
    overruled = {verdict.loser.quote.passage.chunk_id for verdict in verdicts if verdict.decided}
    settled: list[Finding] = []
    for finding in findings:
        said = (*finding.quotes, *finding.counterparts)
        kept = {q.passage.chunk_id: q.passage for q in said if q.passage.chunk_id not in overruled}
        if not overruled & {q.passage.chunk_id for q in finding.quotes}:
            settled.append(finding)
        elif (told := with_winners(finding, verdicts, overruled)).found:
            settled.append(told)
        elif kept:
            request = AnswerRequest(
                query=finding.query, language=language, agent=finding.agent, index=finding.index,
                passages=tuple(kept.values()), min_relevance_score=least,
            )  # fmt: skip
            settled.append(await reasoner.answer(request))
    return tuple(settled)


def with_winners(finding: Finding, verdicts: Sequence[Verdict], overruled: AbstractSet[UUID]) -> Finding:
    """Put the side that holds in the place of each overruled quote; a side that lost to a third one does not hold.

    What else lies in an overruled passage is left out. Nothing is found where nothing is left.
    """
    said = (*finding.quotes, *finding.counterparts)
    decided = [verdict for verdict in verdicts if verdict.decided and verdict.winner.sentence]
    held = {
        one.loser.quote: one.winner.quote
        for one in decided
        if one.winner.quote in said and one.winner.quote.passage.chunk_id not in overruled
    }
    quotes = tuple(
        dict.fromkeys(
            held.get(quote, quote)
            for quote in finding.quotes
            if quote in held or quote.passage.chunk_id not in overruled
        )
    )
    told = {"answer": "\n".join(quote.text for quote in quotes), "found": bool(quotes), "quotes": quotes}
    return finding.model_copy(update={**told, "evidence": evidence_of(quotes), "counterparts": ()})


def _can_be_told(verdict: Verdict) -> bool:
    """Whether the answer can name both sides: a rule that only one version has stands against no words."""
    is_alone = verdict.decided and verdict.conflict.rule != "starts_later"
    return bool(verdict.loser.sentence) and (is_alone or bool(verdict.winner.sentence))


def _point(verdict: Verdict, language: Language) -> ResolvedPoint:
    winner, loser = verdict.winner, verdict.loser
    comes = verdict.conflict.rule == "starts_later"
    told = (winner.gives(loser), loser.gives(winner)) if comes else (winner.sentence, loser.sentence)
    mine, theirs = map(_clean_text, told, (winner.quote.passage, loser.quote.passage))
    return ResolvedPoint(
        subject=winner.query, winner=mine, loser=theirs, starts=loser.starts if comes else None,
        winner_title=winner.quote.passage.title, loser_title=loser.quote.passage.title,
        reason=reason_for(verdict.conflict, language), preference=preference_for(verdict.conflict, language),
        decided=verdict.decided,
    )  # fmt: skip


def _clean_text(text: str, passage: Passage) -> str:
    """Words of a passage or its title: they are a document's, and may hold addresses of others."""
    return LinkGuard((passage.address,), known_text=f"{passage.title}\n{passage.text}").clean(text)
