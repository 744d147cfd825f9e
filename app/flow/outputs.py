"""What the agents of a run found, in the seed's shapes: outputs (§3), quality (§4.1, §7) and the pools' report.

The report is the Synthesizer's: what the pools computed, as Markdown, a section a pool and a line an operation.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from pydantic import JsonValue

from app.agents.registry import AgentRegistry
from app.agents.step import StepOutcome
from app.domain.answer import AgentOutput, Completeness, ContentQuality, DomainMatch, QueryAnswer, Recency
from app.domain.knowledge import Finding
from app.domain.plan import ORCHESTRATOR

_DECIMAL = re.compile(r"-?\d+")
_PLAIN = re.compile(r"[\w:+.,/ -]{1,80}")
"""A number, a day, a name: a result that says more is told in the answer, where its links are checked."""


def findings_of(outcomes: Sequence[StepOutcome]) -> tuple[Finding, ...]:
    """The agents' findings in plan order, one per agent and query; a later tool's finding replaces an empty one."""
    kept: dict[tuple[str, int], Finding] = {}
    for outcome in sorted(outcomes, key=lambda o: o.step.number):
        for finding in outcome.result.findings if outcome.result else ():
            key = (finding.agent, finding.index)
            if key not in kept or (finding.found and not kept[key].found):
                kept[key] = finding
    return tuple(kept.values())


def agent_outputs(outcomes: Sequence[StepOutcome]) -> tuple[AgentOutput, ...]:
    """What each agent found, in the seed's shape (§3)."""
    findings = findings_of(outcomes)
    agents = dict.fromkeys(o.step.step.agent for o in outcomes if o.step.step.agent != ORCHESTRATOR)
    return tuple(
        AgentOutput(
            agent=agent,
            queries=tuple(
                QueryAnswer(
                    index=one.index, query=one.query, context=one.context, answer=one.answer, evidence=one.evidence
                )
                for one in findings
                if one.agent == agent
            ),
            tool_trace=tuple(use for o in outcomes if o.step.step.agent == agent for use in o.calls),
        )
        for agent in agents
    )


def content_quality(
    outcomes: Sequence[StepOutcome], fallback_agents: Sequence[str], now: datetime
) -> dict[str, ContentQuality]:
    """How good each agent's sources were (§7)."""
    quality: dict[str, ContentQuality] = {}
    for output in agent_outputs(outcomes):
        answered = [query for query in output.queries if query.answer]
        dates = [evidence.created_at for query in answered for evidence in query.evidence]
        recency: Recency = recency_of(max(dates), now) if dates else "unknown"
        domain: DomainMatch = "none" if not answered else "general" if output.agent in fallback_agents else "perfect"
        completeness = completeness_of(len(answered), len(output.queries), with_context=bool(dates))
        quality[f"{output.agent}_agent"] = ContentQuality(
            completeness=completeness, recency=recency, domain_match=domain
        )
    return quality


def recency_of(moment: datetime, now: datetime) -> Recency:
    """The seed's recency bucket of a source's date (§4.1)."""
    age_days = (now - moment.astimezone(UTC)).days
    return "within_30_days" if age_days <= 30 else "within_90_days" if age_days <= 90 else "older"


def completeness_of(answered: int, asked: int, *, with_context: bool) -> Completeness:
    """Of the queries that were asked, those that were answered, with sources or without."""
    if answered == 0:
        return "none"
    if answered == asked:
        return "comprehensive"
    return "partial_with_context" if with_context else "partial"


def report_of(outcomes: Sequence[StepOutcome], agents: AgentRegistry) -> str:
    """``## Math Results:`` and ``- **sum**: 6.0`` below it; empty when no pool computed anything."""
    sections: dict[str, list[str]] = {}
    for outcome in sorted(outcomes, key=lambda one: one.step.number):
        agent = outcome.step.step.agent
        if outcome.result is None or agent not in agents.names or not agents.spec(agent).is_pool:
            continue
        kind = agents.spec(agent).type_of(outcome.tool) or outcome.tool
        lines = [f"- **{kind}**: {told}" for told in _results(outcome.result.value)]
        sections.setdefault(agent, []).extend(lines)
    return "\n\n".join(
        "\n".join([f"## {agent.replace('_', ' ').title()} Results:", *lines])
        for agent, lines in sections.items()
        if lines
    )


def _results(value: JsonValue) -> Iterator[str]:
    """What a step's results say in a word; several where it answered several queries."""
    for one in value if isinstance(value, list) else [value]:
        told = _result_text(one.get("result")) if isinstance(one, dict) else ""
        if told:
            yield told


def _result_text(result: JsonValue) -> str:
    """Exact decimals, which servers send as text, have at least one place; counts have none."""
    if isinstance(result, bool) or result is None:
        return "" if result is None else str(result).lower()
    if isinstance(result, int | float):
        return str(result)
    if not isinstance(result, str) or not _PLAIN.fullmatch(result):
        return ""
    return f"{result}.0" if _DECIMAL.fullmatch(result) else result
